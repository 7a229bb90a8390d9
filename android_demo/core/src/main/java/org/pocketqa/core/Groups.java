package org.pocketqa.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Sums the spans that overlap with each answer, as qa/text/groups.py does. */
final class Groups {
    private final Tokens passage;
    private final int maxAnswerLength;
    private final List<Part> parts = new ArrayList<Part>();

    Groups(Tokens passage, QASettings settings) {
        this.passage = passage;
        maxAnswerLength = settings.maxAnswerLength;
    }

    /** Adds the spans of one window. Keeps only the logits that they need, because long texts have thousands of windows. */
    void add(Window window, float[] startLogits, float[] endLogits) {
        int first = 0;
        int behind = window.tokenCount;
        while (first < behind && !window.hasMaxContext(first)) {
            first++;
        }
        while (first < behind && !window.hasMaxContext(behind - 1)) {
            behind--;
        }
        int lastBehind = (int) Math.min(window.tokenCount, behind + (long) maxAnswerLength - 1);
        int begin = window.contextBegin;
        float[] starts = Arrays.copyOfRange(startLogits, begin + first, begin + behind);
        parts.add(new Part(window, first, starts, Arrays.copyOfRange(endLogits, begin + first, begin + lastBehind)));
    }

    /** Returns the share of the softmax of all spans that each group has. `best` are the best spans of the groups, best first. */
    double[] shares(List<Candidate> best) {
        double[] weights = new double[best.size() + 1]; // the last one is that of spans without a group
        double top = Double.NEGATIVE_INFINITY;
        for (Part part : parts) {
            int[] met = met(part, best);
            for (int first = 0; first < part.starts.length; first++) {
                if (!part.window.hasMaxContext(part.from + first)) {
                    continue;
                }
                int group = best.size();
                for (int last = first; last < part.ends.length && last - first < maxAnswerLength; last++) {
                    group = Math.min(group, met[last]);
                    double score = (double) part.starts[first] + (double) part.ends[last];
                    if (score > top) { // avoids overflow
                        scale(weights, Math.exp(top - score));
                        top = score;
                    }
                    weights[group] += Math.exp(score - top);
                }
            }
        }
        double sum = 0;
        for (double weight : weights) {
            sum += weight;
        }
        scale(weights, 1 / sum);
        return Arrays.copyOf(weights, best.size());
    }

    /** Returns for each token of the part the first group whose best span shares a character with it. */
    private int[] met(Part part, List<Candidate> best) {
        int[] met = new int[part.ends.length];
        for (int k = 0; k < met.length; k++) {
            int token = part.window.firstToken + part.from + k;
            while (met[k] < best.size() && !overlap(best.get(met[k]), passage.start(token), passage.end(token))) {
                met[k]++;
            }
        }
        return met;
    }

    /** Returns the spans without those that overlap with a better one. `ranked` are spans, best first. */
    static List<Candidate> apart(List<Candidate> ranked) {
        List<Candidate> apart = new ArrayList<Candidate>();
        for (Candidate span : ranked) {
            boolean overlaps = false;
            for (Candidate better : apart) {
                overlaps |= overlap(better, span.start, span.end);
            }
            if (!overlaps) {
                apart.add(span);
            }
        }
        return apart;
    }

    private static boolean overlap(Candidate span, int start, int end) {
        return span.start < end && start < span.end;
    }

    private static void scale(double[] weights, double factor) {
        for (int i = 0; i < weights.length; i++) {
            weights[i] *= factor;
        }
    }

    /** Logits of the spans of one window: `starts` and `ends` begin at its token `from`. */
    private static final class Part {
        final Window window;
        final int from;
        final float[] starts;
        final float[] ends;

        Part(Window window, int from, float[] starts, float[] ends) {
            this.window = window;
            this.from = from;
            this.starts = starts;
            this.ends = ends;
        }
    }
}
