package org.pocketqa.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Selects the windows of a long text that are most similar to the question (BM25), as qa/text/preselection.py does. */
final class Preselection {
    /** Maximum number of windows read per question. */
    static final int MOST_WINDOWS = 16;

    private static final double K1 = 1.2;

    private Preselection() {}

    private static final int ROWS_A_REPORT = 256;

    /**
     * Returns the parts (first token, number of tokens) of the best MOST_WINDOWS windows, or all if there are not more, in text
     * order. `progress` gets (0, 0) at intervals, so that it can stop a long text.
     */
    static List<int[]> choose(Tokens question, int questionSize, Tokens passage, List<int[]> spans, Progress progress) {
        if (spans.size() <= MOST_WINDOWS) {
            return spans;
        }
        double[] scores = scores(distinct(question, questionSize), passage, spans, progress);
        List<int[]> chosen = new ArrayList<int[]>();
        for (int row : best(scores, MOST_WINDOWS)) {
            chosen.add(spans.get(row));
        }
        return chosen;
    }

    /** Returns the distinct token ids of the question, in order. */
    private static int[] distinct(Tokens question, int n) {
        int[] ids = new int[n];
        int size = 0;
        for (int i = 0; i < n; i++) {
            if (indexOf(question.id(i), ids, size) < 0) {
                ids[size++] = question.id(i);
            }
        }
        return Arrays.copyOf(ids, size);
    }

    private static int indexOf(int id, int[] ids, int size) {
        for (int i = 0; i < size; i++) {
            if (ids[i] == id) {
                return i;
            }
        }
        return -1;
    }

    private static double[] scores(int[] terms, Tokens passage, List<int[]> spans, Progress progress) {
        int[][] counts = new int[spans.size()][terms.length];
        int[] windowsWith = new int[terms.length];
        for (int row = 0; row < counts.length; row++) {
            if (row % ROWS_A_REPORT == 0) {
                progress.windowDone(0, 0);
            }
            int[] span = spans.get(row);
            for (int k = 0; k < span[1]; k++) {
                int term = indexOf(passage.id(span[0] + k), terms, terms.length);
                if (term >= 0 && counts[row][term]++ == 0) {
                    windowsWith[term]++;
                }
            }
        }
        double[] scores = new double[counts.length];
        for (int term = 0; term < terms.length; term++) {
            double idf = (float) Math.log(1 + (counts.length - windowsWith[term] + 0.5) / (windowsWith[term] + 0.5));
            for (int row = 0; row < counts.length; row++) {
                scores[row] += idf * (counts[row][term] / (counts[row][term] + K1));
            }
        }
        return scores;
    }

    /** Returns the indices of the `most` best scores, ascending; of equal scores the earlier index wins. */
    private static int[] best(double[] scores, int most) {
        List<Integer> rows = new ArrayList<Integer>();
        for (int row = 0; row < scores.length; row++) {
            rows.add(row);
        }
        Collections.sort(rows, (a, b) -> Double.compare(scores[b], scores[a])); // a stable sort
        int[] best = new int[most];
        for (int i = 0; i < most; i++) {
            best[i] = rows.get(i);
        }
        Arrays.sort(best);
        return best;
    }
}
