package org.pocketqa.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Cuts a question and a passage into windows, as qa/text/features.py does. */
final class Windows {
    private Windows() {}

    /** Returns the place of the passage's first token in the windows of a truncated question. */
    static int contextBegin(int questionTokens) {
        return questionTokens + 2;
    }

    /** Returns (first token, number of tokens) of every window of a truncated question. */
    static List<int[]> spans(int questionTokens, int passageTokens, QASettings settings) {
        return spans(passageTokens, settings.maxLength - contextBegin(questionTokens) - 1, settings.docStride);
    }

    /** Returns the windows for ascending parts (first token, number of tokens) of a passage. */
    static List<Window> over(List<int[]> spans, int begin) {
        int[] last = spans.get(spans.size() - 1);
        int[] owners = owners(spans, last[0] + last[1]);
        List<Window> windows = new ArrayList<Window>();
        for (int row = 0; row < spans.size(); row++) {
            windows.add(new Window(begin, spans.get(row)[0], spans.get(row)[1], row, owners));
        }
        return windows;
    }

    // An empty passage has one empty window.
    private static List<int[]> spans(int tokens, int budget, int docStride) {
        List<int[]> spans = new ArrayList<int[]>();
        int start = 0;
        int n = Math.min(tokens, budget);
        spans.add(new int[] {start, n});
        while (start + n < tokens) {
            start += Math.min(n, docStride);
            n = Math.min(tokens - start, budget);
            spans.add(new int[] {start, n});
        }
        return spans;
    }

    /** Returns for each token the window with most context (BERT's rule); of equal windows the first. */
    private static int[] owners(List<int[]> spans, int tokens) {
        int[] owner = new int[tokens];
        double[] best = new double[tokens];
        Arrays.fill(best, -1);
        for (int row = 0; row < spans.size(); row++) {
            int first = spans.get(row)[0];
            int n = spans.get(row)[1];
            for (int k = 0; k < n; k++) {
                double score = Math.min(k, n - 1 - k) + 0.01 * n;
                if (score > best[first + k]) {
                    best[first + k] = score;
                    owner[first + k] = row;
                }
            }
        }
        return owner;
    }
}
