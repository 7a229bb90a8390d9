package org.pocketqa.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.Test;

/** Answers computed by hand. Token i of a passage has the characters [10 i, 10 i + 9); the passage begins at position 3. */
public class DecoderTest {
    private static final int BEGIN = 3;

    @Test
    public void theBestSpanIsTheLargestSum() throws Exception {
        List<Candidate> found = decode(20, 30, new float[] {1, 5, 2}, new float[] {0, 3, 4});
        // 1-2 is the best of all spans that do not end before they start. Of those that do not overlap with it, 0-0 is.
        assertEquals("9@10-29 1@0-9", shown(found));
    }

    @Test
    public void anAnswerDoesNotEndBeforeItStarts() throws Exception {
        // Start 2 and end 0 would have 9.
        List<Candidate> found = decode(20, 30, new float[] {0, -9, 5}, new float[] {4, -9, 0});
        assertEquals("5@20-29 4@0-9 -18@10-19", shown(found));
    }

    @Test
    public void anAnswerHasAtMostSoManyTokens() throws Exception {
        float[] start = {9, 0, 0, 0};
        float[] end = {0, 0, 0, 9};
        assertEquals("18@0-39", shown(decode(20, 4, start, end)).split(" ")[0]);
        assertEquals("9@0-9 9@10-39", shown(decode(20, 3, start, end)));
        assertEquals("9@0-9 9@30-39 0@10-19 0@20-29", shown(decode(20, 1, start, end)));
    }

    @Test
    public void onlyTheBestStartsAndEndsOfAWindowAreTried() throws Exception {
        // The best start is token 2, the best end is token 0: these two alone give no valid span.
        float[] start = {1, 0, 5};
        float[] end = {5, 0, 1};
        assertEquals("", shown(decode(1, 30, start, end)));
        assertEquals("6@0-9 6@20-29", shown(decode(2, 30, start, end))); // 0-29 overlaps, 10-19 is not tried
    }

    @Test
    public void ofEqualLogitsTheEarlierPlaceIsTried() throws Exception {
        assertEquals("2@0-9", shown(decode(1, 30, new float[] {1, 1, 1}, new float[] {1, 1, 1})));
        assertArrayEquals(new int[] {1, 3, 0}, Decoder.largest(new float[] {9, 2, 7, 2, 7, 1}, 1, 4, 3));
        assertArrayEquals(new int[] {0, 1}, Decoder.largest(new float[] {3, 3, 3}, 0, 3, 2));
        assertArrayEquals(new int[] {}, Decoder.largest(new float[] {3}, 1, 0, 2));
    }

    @Test
    public void equalScoresGoByStartThenEnd() throws Exception {
        List<Candidate> found = decode(20, 30, new float[] {0, -0.0f, 0}, new float[] {0, 0, -0.0f});
        assertEquals("0@0-9 0@10-19 0@20-29", shown(found));
        // Of six spans three begin with token 0, and two of the others with token 1.
        assertArrayEquals(new double[] {3 / 6.0, 2 / 6.0, 1 / 6.0}, shares(found), 1e-12);
    }

    @Test
    public void anAnswerStartsWhereTheWindowSeesMost() throws Exception {
        // Two windows over three tokens. Token 1 belongs to the second: it may end an answer of the first, but not start one.
        Decoder decoder = new Decoder(tokens(3), TestSettings.of(100, 1, 50, 20, 30));
        int[] owners = {0, 1, 1};
        decoder.add(new Window(BEGIN, 0, 2, 0, owners), logits(1, 50), logits(1, 7));
        decoder.add(new Window(BEGIN, 1, 2, 1, owners), logits(2, 1), logits(1, 1));
        assertEquals("8@0-19 2@20-29", shown(decoder.candidates()));
        // e^8 + e^2 of the first window, with 1-1 and 1-2 of the second; then 2-2.
        double sum = Math.exp(8) + Math.exp(2) + 2 * Math.exp(3) + Math.exp(2);
        assertArrayEquals(new double[] {1 - Math.exp(2) / sum, Math.exp(2) / sum}, shares(decoder.candidates()), 1e-12);
    }

    @Test
    public void aRangeIsOneAnswer() throws Exception {
        // Two pieces of one character: the tokens differ, the ranges do not.
        Tokens passage = new Tokens();
        passage.add(7, 0, 1);
        passage.add(8, 0, 1);
        Decoder decoder = new Decoder(passage, TestSettings.of(100, 50, 50, 20, 30));
        decoder.add(new Window(BEGIN, 0, 2, 0, new int[2]), logits(1, 2), logits(3, 5));
        assertEquals("7@0-1", shown(decoder.candidates()));
        assertArrayEquals(new double[] {1}, shares(decoder.candidates()), 0);
    }

    @Test
    public void theNullScoreIsTheLeastOfAllWindows() throws Exception {
        Decoder decoder = new Decoder(tokens(3), TestSettings.of(100, 1, 50, 20, 30));
        double[] scores = {4, -2.5, 3};
        for (int row = 0; row < 3; row++) {
            float[] start = logits(0);
            float[] end = logits(0);
            start[0] = (float) scores[row];
            end[0] = 0.5f;
            decoder.add(new Window(BEGIN, row, 1, row, new int[] {0, 1, 2}), start, end);
        }
        assertEquals(-2, decoder.nullScore(), 0);
    }

    @Test
    public void scoresAreSumsOfDoubles() throws Exception {
        // 16777216 + 1 is no float: as a sum of floats both spans would be equal.
        List<Candidate> found = decode(20, 30, new float[] {16777216, 0}, new float[] {0, 1});
        assertEquals(16777217.0, found.get(0).score, 0);
    }

    @Test
    public void anEmptyPassageHasANullScoreOnly() throws Exception {
        Decoder decoder = new Decoder(new Tokens(), TestSettings.of(100, 50, 50, 20, 30));
        decoder.add(new Window(BEGIN, 0, 0, 0, new int[0]), new float[] {1, 9, 9, 9, 9}, new float[] {2, 9, 9, 9, 9});
        assertEquals(3, decoder.nullScore(), 0);
        assertTrue(decoder.candidates().isEmpty());
    }

    @Test
    public void paddingAndTheQuestionAreNotLookedAt() throws Exception {
        float[] start = {0, 99, 99, 1, 99, 99, Float.NaN};
        float[] end = {0, 99, 99, 1, 99, 99, Float.POSITIVE_INFINITY};
        Decoder decoder = new Decoder(tokens(1), TestSettings.of(100, 50, 50, 20, 30));
        decoder.add(new Window(BEGIN, 0, 1, 0, new int[1]), start, end);
        assertEquals("2@0-9", shown(decoder.candidates()));
    }

    @Test
    public void logitsThatAreNoNumbersEndTheQuestion() throws Exception {
        for (float wrong : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
            for (int at : new int[] {0, 1, 3, 5}) { // [CLS], the question, the passage, the last [SEP]
                float[] bad = logits(1, 2);
                bad[at] = wrong;
                Decoder decoder = new Decoder(tokens(2), TestSettings.of(100, 50, 50, 20, 30));
                Window window = new Window(BEGIN, 0, 2, 0, new int[2]);
                for (float[][] logits : new float[][][] {{bad, logits(1, 2)}, {logits(1, 2), bad}}) {
                    String message =
                            assertThrows(ArithmeticException.class, () -> decoder.add(window, logits[0], logits[1])).getMessage();
                    assertTrue(message, message.contains("computed " + wrong + " for a token"));
                }
            }
        }
    }

    @Test
    public void anAnswerHasTheShareOfAllSpansThatOverlapWithIt() throws Exception {
        // Weights by tokens: 0-0 4, 0-1 12, 1-1 3, 1-2 1, 2-2 2, 2-3 4, 3-3 2; together 28. 0-1 is the best, then 2-3.
        float[] start = logs(4, 1, 2, 1);
        float[] end = logs(1, 3, 1, 2);
        assertArrayEquals(new double[] {20 / 28.0, 8 / 28.0}, shares(decode(20, 2, start, end)), 1e-6);
        assertArrayEquals(new double[] {20 / 28.0}, shares(decode(1, 2, start, end)), 1e-6); // spans that are not tried count too
        float[] large = {1e37f, 1e37f};
        assertArrayEquals(new double[] {0.5, 0.5}, shares(decode(20, 1, large, large)), 0);
    }

    /** Returns logits; the logarithms are rounded to floats. */
    private static float[] logs(float... weights) {
        for (int i = 0; i < weights.length; i++) {
            weights[i] = (float) Math.log(weights[i]);
        }
        return weights;
    }

    private static double[] shares(List<Candidate> candidates) {
        double[] shares = new double[candidates.size()];
        for (int i = 0; i < shares.length; i++) {
            shares[i] = candidates.get(i).share;
        }
        return shares;
    }

    /** Dropping candidates and logits in a long text must not change the result. */
    @Test
    public void manyWindowsGiveWhatAllTheirSpansGive() throws Exception {
        Random random = new Random(3);
        for (int round = 0; round < 200; round++) {
            int n = random.nextInt(60);
            Tokens passage = new Tokens();
            int begin = 0;
            for (int i = 0; i < n; i++) { // sometimes two tokens have one range
                begin = random.nextInt(4) == 0 ? begin : 10 * i;
                passage.add(0, begin, begin + 9);
            }
            int nBest = 1 + random.nextInt(6);
            QASettings settings = TestSettings.of(BEGIN + 7, 1 + random.nextInt(5), 1, nBest, 1 + random.nextInt(6));
            Decoder decoder = new Decoder(passage, settings);
            List<Candidate> tried = new ArrayList<>();
            List<Candidate> all = new ArrayList<>();
            for (Window window : WindowsTest.make(1, n, settings)) {
                float[] start = new float[20];
                float[] end = new float[20];
                for (int i = 0; i < 20; i++) {
                    start[i] = random.nextInt(8); // many are equal
                    end[i] = random.nextInt(8);
                }
                decoder.add(window, start, end);
                List<Candidate> triedHere = new ArrayList<>();
                addSpans(all, triedHere, window, start, end, passage, settings);
                tried.addAll(apart(triedHere));
            }
            tried.sort(BEST_FIRST);
            List<Candidate> best = apart(tried.subList(0, Math.min(tried.size(), settings.nBest)));
            List<Candidate> seen = decoder.candidates();
            for (int i = 2; i < seen.size(); i++) {
                assertTrue((float) seen.get(i - 1).share >= (float) seen.get(i).share);
            }
            assertEquals(best.isEmpty() ? "" : shown(best.subList(0, 1)), seen.isEmpty() ? "" : shown(seen.subList(0, 1)));
            Collections.sort(seen, BEST_FIRST);
            assertEquals(shown(best), shown(seen));
            assertArrayEquals(expectedShares(all, best), shares(seen), 1e-12);
        }
    }

    private static final Comparator<Candidate> BEST_FIRST =
            Comparator.<Candidate>comparingDouble(span -> -span.score)
                    .thenComparingInt(span -> span.start)
                    .thenComparingInt(span -> span.end);

    /** Returns the best span, then always the best one that overlaps with none before. */
    private static List<Candidate> apart(List<Candidate> spans) {
        List<Candidate> left = new ArrayList<>(spans);
        List<Candidate> apart = new ArrayList<>();
        while (!left.isEmpty()) {
            Candidate best = Collections.min(left, BEST_FIRST);
            apart.add(best);
            left.removeIf(span -> overlap(span, best));
        }
        return apart;
    }

    private static boolean overlap(Candidate one, Candidate other) {
        return Math.max(one.start, other.start) < Math.min(one.end, other.end);
    }

    private static double[] expectedShares(List<Candidate> all, List<Candidate> best) {
        double[] shares = new double[best.size()];
        double sum = 0;
        for (Candidate span : all) {
            sum += Math.exp(span.score);
            int group = 0;
            while (group < shares.length && !overlap(span, best.get(group))) {
                group++;
            }
            if (group < shares.length) {
                shares[group] += Math.exp(span.score);
            }
        }
        for (int i = 0; i < shares.length; i++) {
            shares[i] /= sum;
        }
        return shares;
    }

    private static void addSpans(
            List<Candidate> all,
            List<Candidate> tried,
            Window window,
            float[] start,
            float[] end,
            Tokens passage,
            QASettings settings) {
        for (int i = 0; i < window.tokenCount; i++) {
            for (int j = i; j < window.tokenCount && j - i < settings.maxAnswerLength; j++) {
                if (window.hasMaxContext(i)) {
                    float score = start[window.contextBegin + i] + end[window.contextBegin + j];
                    int first = window.firstToken;
                    Candidate span = new Candidate(score, passage.start(first + i), passage.end(first + j), 0);
                    all.add(span);
                    if (rank(start, window, i) < settings.nBest && rank(end, window, j) < settings.nBest) {
                        tried.add(span);
                    }
                }
            }
        }
    }

    /** Returns the rank of token `k`: the number of larger ones, and of earlier equal ones. */
    private static int rank(float[] logits, Window window, int k) {
        int before = 0;
        for (int i = 0; i < window.tokenCount; i++) {
            float difference = logits[window.contextBegin + i] - logits[window.contextBegin + k];
            before += difference > 0 || (difference == 0 && i < k) ? 1 : 0;
        }
        return before;
    }

    /** Returns one window over a complete passage. */
    private static List<Candidate> decode(int nBest, int maxAnswerLength, float[] start, float[] end) throws Exception {
        Decoder decoder = new Decoder(tokens(start.length), TestSettings.of(100, 50, 50, nBest, maxAnswerLength));
        decoder.add(new Window(BEGIN, 0, start.length, 0, new int[start.length]), logits(start), logits(end));
        return decoder.candidates();
    }

    private static Tokens tokens(int n) {
        Tokens tokens = new Tokens();
        for (int i = 0; i < n; i++) {
            tokens.add(1000 + i, 10 * i, 10 * i + 9);
        }
        return tokens;
    }

    /** Returns logits of [CLS], a question token, [SEP], the passage, [SEP], and padding that would win if it were read. */
    private static float[] logits(float... passage) {
        float[] logits = new float[BEGIN + passage.length + 4];
        Arrays.fill(logits, 1000);
        System.arraycopy(passage, 0, logits, BEGIN, passage.length);
        return logits;
    }

    /** Returns score@start-end of each candidate, with rounded scores. */
    private static String shown(List<Candidate> candidates) {
        StringBuilder out = new StringBuilder();
        for (Candidate candidate : candidates) {
            out.append(out.length() == 0 ? "" : " ").append(Math.round(candidate.score));
            out.append('@').append(candidate.start).append('-').append(candidate.end);
        }
        return out.toString();
    }
}
