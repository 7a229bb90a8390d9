package org.pocketqa.core;

import java.util.Collections;
import java.util.List;

/** What a model makes of one question, and how long each part took. */
public final class Answers {
    /** The n best answers, best first; empty when the passage has no token. */
    public final List<Candidate> candidates;
    /** The answer to give, or null: there is no answer in this text. */
    public final Candidate best;
    /** start[CLS] + end[CLS], the least over the windows; the larger, the less answerable. */
    public final double nullScore;

    /** Windows read. */
    public final int windows;
    /** Windows that there are: more than were read where some were left out. */
    public final int windowsInText;
    /** The passage's share is in the first question's: its tokens are kept for the next. */
    public final long tokenizeNanos;
    public final long inferenceNanos;
    public final long decodeNanos;

    private final Double nullThreshold;

    Answers(
            List<Candidate> candidates,
            double nullScore,
            Double nullThreshold,
            int windows,
            int windowsInText,
            long tokenizeNanos,
            long inferenceNanos,
            long decodeNanos) {
        this.candidates = Collections.unmodifiableList(candidates);
        this.nullScore = nullScore;
        this.nullThreshold = nullThreshold;
        this.best = answered(candidates, nullScore, nullThreshold) ? candidates.get(0) : null;
        this.windows = windows;
        this.windowsInText = windowsInText;
        this.tokenizeNanos = tokenizeNanos;
        this.inferenceNanos = inferenceNanos;
        this.decodeNanos = decodeNanos;
    }

    /** Is there an answer: a candidate that the null score does not exceed by more than the threshold (null: always)? */
    static boolean answered(List<Candidate> candidates, double nullScore, Double nullThreshold) {
        return !candidates.isEmpty() && (nullThreshold == null || !(nullScore - candidates.get(0).score > nullThreshold));
    }

    /** The candidates' shares of all that can be given: the softmax of their scores and, with a threshold, of no answer's. */
    public double[] probabilities() {
        double[] shares = new double[candidates.size()];
        double top = shares.length == 0 ? 0 : candidates.get(0).score;
        double none = nullThreshold == null || shares.length == 0 ? Double.NEGATIVE_INFINITY : nullScore - nullThreshold - top;
        double most = Math.max(0, none); // so that nothing overflows
        double sum = Math.exp(none - most);
        for (int i = 0; i < shares.length; i++) {
            shares[i] = Math.exp(candidates.get(i).score - top - most);
            sum += shares[i];
        }
        for (int i = 0; i < shares.length; i++) {
            shares[i] /= sum;
        }
        return shares;
    }
}
