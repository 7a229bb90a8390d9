package org.pocketqa.core;

/** One answer: its best span, UTF-16 range [start, end) of the passage, and that span's score (start logit + end logit). */
public final class Candidate {
    public final double score;
    public final int start;
    public final int end;
    /** Softmax score of all spans that overlap with the best one. */
    public final double share;

    public Candidate(double score, int start, int end, double share) {
        this.score = score;
        this.start = start;
        this.end = end;
        this.share = share;
    }
}
