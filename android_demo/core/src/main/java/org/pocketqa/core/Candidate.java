package org.pocketqa.core;

/** One answer: UTF-16 range [start, end) of the passage, and its score (start logit + end logit). */
public final class Candidate {
    public final double score;
    public final int start;
    public final int end;

    public Candidate(double score, int start, int end) {
        this.score = score;
        this.start = start;
        this.end = end;
    }
}
