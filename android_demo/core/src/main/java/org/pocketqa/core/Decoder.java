package org.pocketqa.core;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Computes n-best answers and the null score from the logits of a question's windows, as qa/text/answers.py does. */
final class Decoder {
    private static final Comparator<Candidate> BEST_FIRST =
            new Comparator<Candidate>() {
                @Override
                public int compare(Candidate a, Candidate b) {
                    int byScore = Double.compare(b.score, a.score);
                    int byStart = a.start < b.start ? -1 : a.start > b.start ? 1 : 0;
                    int byEnd = a.end < b.end ? -1 : a.end > b.end ? 1 : 0;
                    return byScore != 0 ? byScore : byStart != 0 ? byStart : byEnd;
                }
            };

    private final Tokens passage;
    private final QASettings settings;
    private final Map<Long, Candidate> pool = new HashMap<Long, Candidate>();
    private double nullScore = Double.POSITIVE_INFINITY;

    Decoder(Tokens passage, QASettings settings) {
        this.passage = passage;
        this.settings = settings;
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
                    offer(new Candidate(score, passage.start(window.firstToken + start), passage.end(window.firstToken + end)));
                }
            }
        }
        // Long texts have thousands of windows, so only the best ranges are kept. This is safe because the score of a range
        // never falls: a dropped range that gets a higher score later is added again.
        List<Candidate> best = candidates();
        pool.clear();
        for (Candidate candidate : best) {
            offer(candidate);
        }
    }

    private static void checkFinite(float[] logits, int n) {
        for (int i = 0; i < n; i++) {
            if (Float.isNaN(logits[i]) || Float.isInfinite(logits[i])) {
                throw new ArithmeticException(
                        "The model computed " + logits[i] + " for a token, so it cannot answer. Export it in another precision.");
            }
        }
    }

    private void offer(Candidate candidate) {
        Long range = ((long) candidate.start << 32) | candidate.end;
        Candidate known = pool.get(range);
        if (known == null || candidate.score > known.score) {
            pool.put(range, candidate);
        }
    }

    double nullScore() {
        return nullScore;
    }

    /** Returns the n best answers over all windows, best first. Equal scores are ordered by start, then by end. */
    List<Candidate> candidates() {
        List<Candidate> ranked = new ArrayList<Candidate>(pool.values());
        Collections.sort(ranked, BEST_FIRST);
        return new ArrayList<Candidate>(ranked.subList(0, Math.min(settings.nBest, ranked.size())));
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
