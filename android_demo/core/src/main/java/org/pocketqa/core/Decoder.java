package org.pocketqa.core;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** Computes the answers and the null score from the logits of a question's windows, as qa/text/answers.py does. */
final class Decoder {
    private static final Comparator<Candidate> BEST_FIRST =
            (a, b) -> {
                int byScore = Double.compare(b.score, a.score);
                int byStart = Integer.compare(a.start, b.start);
                return byScore != 0 ? byScore : byStart != 0 ? byStart : Integer.compare(a.end, b.end);
            };

    // In single precision, so that equal shares, which Python sums in another order, stay as ranked.
    private static final Comparator<Candidate> LARGEST_SHARE_FIRST = (a, b) -> Float.compare((float) b.share, (float) a.share);

    private final Tokens passage;
    private final QASettings settings;
    private final Groups groups;
    private List<Candidate> best = new ArrayList<Candidate>(); // no shares yet
    private double nullScore = Double.POSITIVE_INFINITY;

    Decoder(Tokens passage, QASettings settings) {
        this.passage = passage;
        this.settings = settings;
        groups = new Groups(passage, settings);
    }

    /**
     * Adds one window. Logits start at its [CLS] and may include padding.
     *
     * @throws ArithmeticException when a token's logit is not finite, because then answers cannot be ranked
     */
    void add(Window window, float[] startLogits, float[] endLogits) {
        checkFinite(startLogits, window.size());
        checkFinite(endLogits, window.size());
        nullScore = Math.min(nullScore, (double) startLogits[0] + (double) endLogits[0]);
        groups.add(window, startLogits, endLogits);
        List<Candidate> found = new ArrayList<Candidate>();
        int[] starts = largest(startLogits, window.contextBegin, window.tokenCount, settings.nBest);
        int[] ends = largest(endLogits, window.contextBegin, window.tokenCount, settings.nBest);
        for (int start : starts) {
            if (!window.hasMaxContext(start)) {
                continue;
            }
            for (int end : ends) {
                if (end >= start && end - start < settings.maxAnswerLength) {
                    // Adding 0.0 turns -0.0 into 0.0; Double.compare treats them as different.
                    int begin = window.contextBegin;
                    double score = (double) startLogits[begin + start] + (double) endLogits[begin + end] + 0.0;
                    int first = window.firstToken;
                    found.add(new Candidate(score, passage.start(first + start), passage.end(first + end), Double.NaN));
                }
            }
        }
        Collections.sort(found, BEST_FIRST);
        best.addAll(Groups.apart(found));
        Collections.sort(best, BEST_FIRST);
        best = new ArrayList<Candidate>(best.subList(0, Math.min(settings.nBest, best.size())));
    }

    private static void checkFinite(float[] logits, int n) {
        for (int i = 0; i < n; i++) {
            if (Float.isNaN(logits[i]) || Float.isInfinite(logits[i])) {
                throw new ArithmeticException(
                        "The model computed " + logits[i] + " for a token, so it cannot answer. Export it in another precision.");
            }
        }
    }

    double nullScore() {
        return nullScore;
    }

    /** Returns the answers over all windows: the one with the best span, then the others, largest share first. */
    List<Candidate> candidates() {
        List<Candidate> spans = Groups.apart(best);
        double[] shares = groups.shares(spans);
        List<Candidate> answers = new ArrayList<Candidate>();
        for (int i = 0; i < shares.length; i++) {
            Candidate span = spans.get(i);
            answers.add(new Candidate(span.score, span.start, span.end, shares[i]));
        }
        if (!answers.isEmpty()) {
            Collections.sort(answers.subList(1, answers.size()), LARGEST_SHARE_FIRST);
        }
        return answers;
    }

    /** Returns the indices of the `most` largest of values[from, from + n), largest first; of equal values the earlier first. */
    static int[] largest(float[] values, int from, int n, int most) {
        int[] indices = new int[Math.min(n, most)];
        int size = 0;
        for (int i = 0; i < n; i++) {
            float value = values[from + i];
            int at = size;
            while (at > 0 && value > values[from + indices[at - 1]]) {
                at--;
            }
            if (at == indices.length) {
                continue;
            }
            size = Math.min(size + 1, indices.length);
            System.arraycopy(indices, at, indices, at + 1, size - at - 1);
            indices[at] = i;
        }
        return indices;
    }
}
