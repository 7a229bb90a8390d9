package org.pocketqa.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.Test;

/** Answers computed by hand. Token i of a passage has the characters [10 i, 10 i + 9); the passage begins at position 3. */
public class DecoderTest {
    private static final int BEGIN = 3;

    @Test
    public void theBestSpanIsTheLargestSum() throws Exception {
        List<Candidate> found = decode(20, 30, new float[] {1, 5, 2}, new float[] {0, 3, 4});
        // All spans that do not end before they start: 1-2, 1-1, 2-2 and those from 0.
        assertEquals("9@10-29 8@10-19 6@20-29 5@0-29 4@0-19 1@0-9", shown(found));
    }

    @Test
    public void anAnswerDoesNotEndBeforeItStarts() throws Exception {
        // Start 2 and end 0 would have 9.
        List<Candidate> found = decode(20, 30, new float[] {0, -9, 5}, new float[] {4, -9, 0});
        assertEquals("5@20-29 4@0-9 0@0-29 -9@0-19 -9@10-29 -18@10-19", shown(found));
    }

    @Test
    public void anAnswerHasAtMostSoManyTokens() throws Exception {
        float[] start = {9, 0, 0, 0};
        float[] end = {0, 0, 0, 9};
        assertEquals("18@0-39", shown(decode(20, 4, start, end)).split(" ")[0]);
        String three = "9@0-9 9@0-19 9@0-29 9@10-39 9@20-39 9@30-39 0@10-19 0@10-29 0@20-29";
        assertEquals(three, shown(decode(20, 3, start, end)));
        assertEquals("9@0-9 9@30-39 0@10-19 0@20-29", shown(decode(20, 1, start, end)));
    }

    @Test
    public void onlyTheBestStartsAndEndsOfAWindowAreTried() throws Exception {
        // The best start is token 2, the best end is token 0: these two alone give no valid span.
        float[] start = {1, 0, 5};
        float[] end = {5, 0, 1};
        assertEquals("", shown(decode(1, 30, start, end)));
        assertEquals("6@0-9 6@20-29", shown(decode(2, 30, start, end))); // of 0-9, 0-29 and 20-29 the two best
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
        assertEquals("0@0-9 0@0-19 0@0-29 0@10-19 0@10-29 0@20-29", shown(found));
    }

    @Test
    public void anAnswerStartsWhereTheWindowSeesMost() throws Exception {
        // Two windows over three tokens. Token 1 belongs to the second: it may end an answer of the first, but not start one.
        Decoder decoder = new Decoder(tokens(3), TestSettings.of(100, 1, 50, 20, 30));
        int[] owners = {0, 1, 1};
        decoder.add(new Window(BEGIN, 0, 2, 0, owners), logits(1, 50), logits(1, 7));
        decoder.add(new Window(BEGIN, 1, 2, 1, owners), logits(2, 1), logits(1, 1));
        assertEquals("8@0-19 3@10-19 3@10-29 2@0-9 2@20-29", shown(decoder.candidates()));
    }

    @Test
    public void aRangeKeepsItsHighestScore() throws Exception {
        // Two pieces of one character: the tokens differ, the ranges do not.
        Tokens passage = new Tokens();
        passage.add(7, 0, 1);
        passage.add(8, 0, 1);
        Decoder decoder = new Decoder(passage, TestSettings.of(100, 50, 50, 20, 30));
        decoder.add(new Window(BEGIN, 0, 2, 0, new int[2]), logits(1, 2), logits(3, 5));
        assertEquals("7@0-1", shown(decoder.candidates()));
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

    /** Dropping candidates in a long text must not change the result. */
    @Test
    public void manyWindowsGiveWhatAllTheirSpansGive() throws Exception {
        Random random = new Random(3);
        for (int round = 0; round < 200; round++) {
            int n = random.nextInt(60);
            Tokens passage = new Tokens();
            for (int i = 0; i < n; i++) { // sometimes two tokens have one range
                passage.add(0, 10 * (i / (1 + random.nextInt(2))), 10 * i + 9);
            }
            int nBest = 1 + random.nextInt(6);
            QASettings settings = TestSettings.of(BEGIN + 7, 1 + random.nextInt(5), 1, nBest, 1 + random.nextInt(6));
            Decoder decoder = new Decoder(passage, settings);
            Map<String, Candidate> all = new HashMap<>();
            for (Window window : WindowsTest.make(1, n, settings)) {
                float[] start = new float[20];
                float[] end = new float[20];
                for (int i = 0; i < 20; i++) {
                    start[i] = random.nextInt(8); // many are equal
                    end[i] = random.nextInt(8);
                }
                decoder.add(window, start, end);
                addSpans(all, window, start, end, passage, settings);
            }
            List<Candidate> ranked = new ArrayList<>(all.values());
            Comparator<Candidate> byScore = Comparator.comparingDouble(span -> -span.score);
            ranked.sort(byScore.thenComparingInt(span -> span.start).thenComparingInt(span -> span.end));
            assertEquals(shown(ranked.subList(0, Math.min(ranked.size(), settings.nBest))), shown(decoder.candidates()));
        }
    }

    private static void addSpans(
            Map<String, Candidate> all, Window window, float[] start, float[] end, Tokens passage, QASettings settings) {
        for (int i = 0; i < window.tokenCount; i++) {
            for (int j = i; j < window.tokenCount && j - i < settings.maxAnswerLength; j++) {
                boolean tried = rank(start, window, i) < settings.nBest && rank(end, window, j) < settings.nBest;
                if (tried && window.hasMaxContext(i)) {
                    float score = start[window.contextBegin + i] + end[window.contextBegin + j];
                    int first = window.firstToken;
                    Candidate span = new Candidate(score, passage.start(first + i), passage.end(first + j));
                    Candidate known = all.get(span.start + "-" + span.end);
                    all.put(span.start + "-" + span.end, known == null || span.score > known.score ? span : known);
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

    @Test
    public void theThresholdIsTheLargestDifferenceThatStillAnswers() {
        List<Candidate> candidates = Arrays.asList(new Candidate(3, 1, 2), new Candidate(2, 0, 2));
        assertSame(candidates.get(0), answers(candidates, 5, null).best);
        assertSame(candidates.get(0), answers(candidates, 1e9, null).best);
        assertSame(candidates.get(0), answers(candidates, 5, 2.0).best);
        assertNull(answers(candidates, 5, 1.99).best);
        assertNull(answers(candidates, 2, -1.5).best);
        assertSame(candidates.get(0), answers(candidates, 1, -1.5).best);
        assertEquals(2, answers(candidates, 5, 1.0).candidates.size());
    }

    @Test
    public void nothingIsNoAnswerWhateverTheThreshold() {
        List<Candidate> none = Collections.emptyList();
        assertNull(answers(none, -100, null).best);
        assertNull(answers(none, -100, 100.0).best);
        assertEquals(0, answers(none, 0, null).probabilities().length);
    }

    @Test
    public void probabilitiesAreTheSoftmaxOfTheScores() {
        Candidate six = new Candidate(Math.log(6), 0, 1);
        List<Candidate> candidates = Arrays.asList(six, new Candidate(Math.log(3), 0, 2), new Candidate(0, 1, 2));
        assertArrayEquals(new double[] {0.6, 0.3, 0.1}, answers(candidates, 0, null).probabilities(), 1e-12);
        List<Candidate> large = Arrays.asList(new Candidate(5000, 0, 1), new Candidate(5000, 1, 2));
        assertArrayEquals(new double[] {0.5, 0.5}, answers(large, 0, null).probabilities(), 0);
        List<Candidate> apart = Arrays.asList(new Candidate(5000, 0, 1), new Candidate(-5000, 1, 2));
        assertArrayEquals(new double[] {1, 0}, answers(apart, 0, null).probabilities(), 0);
    }

    @Test
    public void withAThresholdNoAnswerHasAShareToo() {
        Candidate six = new Candidate(Math.log(6), 0, 1);
        List<Candidate> candidates = Arrays.asList(six, new Candidate(Math.log(3), 0, 2));
        assertArrayEquals(new double[] {0.6, 0.3}, answers(candidates, 0, 0.0).probabilities(), 1e-12);
        assertArrayEquals(new double[] {0.06, 0.03}, answers(candidates, Math.log(91), 0.0).probabilities(), 1e-12);
        assertArrayEquals(new double[] {0.6, 0.3}, answers(candidates, 5000, 5000.0).probabilities(), 1e-12);
        assertArrayEquals(new double[] {0, 0}, answers(candidates, 5000, 0.0).probabilities(), 0);
    }

    private static Answers answers(List<Candidate> candidates, double nullScore, Double threshold) {
        return new Answers(candidates, nullScore, threshold, null, 1, 1, 0, 0, 0);
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
