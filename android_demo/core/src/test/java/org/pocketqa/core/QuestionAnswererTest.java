package org.pocketqa.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Questions to a fake model. A letter is a token, a = 10. Windows have 8, 12 or 16 tokens; questions and steps have 4. */
public class QuestionAnswererTest {
    private static final int CLS = 2;
    private static final int SEP = 3;
    private static final int PAD = 9;
    private static final Progress QUIET = (done, total) -> {};

    @Rule public final TemporaryFolder folder = new TemporaryFolder();

    private final List<String> calls = new ArrayList<>();
    private final List<int[][]> inputs = new ArrayList<>();

    /** Finds z in a passage: its start and end logits are 5, those of [CLS] 1, all others 0. */
    private void findZ(Signature signature, int[] ids, int[] mask, int[] types, float[] startLogits, float[] endLogits) {
        calls.add(signature.name);
        inputs.add(new int[][] {ids.clone(), mask.clone(), types.clone()});
        for (int i = 0; i < ids.length; i++) {
            startLogits[i] = i == 0 ? 1 : ids[i] == 10 + 'z' - 'a' && types[i] == 1 ? 5 : 0;
            endLogits[i] = startLogits[i];
        }
        assertEquals(ids.length, startLogits.length);
        assertEquals(ids.length, endLogits.length);
    }

    private QuestionAnswerer answerer() throws IOException {
        return answerer(this::findZ);
    }

    private QuestionAnswerer answerer(LogitsModel model) throws IOException {
        return new QuestionAnswerer(ModelPackage.read(ModelFiles.small().write(folder.newFile())), model);
    }

    @Test
    public void aWindowIsQuestionAndPassagePaddedToItsSignature() throws IOException {
        Answers answers = answerer().ask("A z.", "b?", true, QUIET);
        assertArrayEquals(new int[] {CLS, 11, 0, SEP, 10, 35, 4, SEP}, inputs.get(0)[0]);
        assertArrayEquals(new int[] {1, 1, 1, 1, 1, 1, 1, 1}, inputs.get(0)[1]);
        assertArrayEquals(new int[] {0, 0, 0, 0, 1, 1, 1, 1}, inputs.get(0)[2]);
        assertEquals(2, answers.best.start);
        assertEquals(3, answers.best.end);
        assertEquals(10, answers.best.score, 0);
        assertEquals(2, answers.nullScore, 0);
        assertEquals(1, answers.windows);
        assertEquals(3, answers.candidates.size()); // n best
        answerer().ask("z", "b", true, QUIET);
        assertArrayEquals(new int[] {CLS, 11, SEP, 35, SEP, PAD, PAD, PAD}, inputs.get(1)[0]);
        assertArrayEquals(new int[] {1, 1, 1, 1, 1, 0, 0, 0}, inputs.get(1)[1]);
        assertArrayEquals(new int[] {0, 0, 0, 1, 1, 0, 0, 0}, inputs.get(1)[2]);
    }

    @Test
    public void theSmallestSignatureThatFitsIsUsed() throws IOException {
        QuestionAnswerer answerer = answerer();
        for (int letters = 1; letters <= 12; letters++) { // and four more tokens in the window
            answerer.ask("abcdefghijklm".substring(0, letters).replaceAll("(.)", "$1 "), "q", true, QUIET);
        }
        assertEquals("[qa8, qa8, qa8, qa8, qa12, qa12, qa12, qa12, qa16, qa16, qa16, qa16]", calls.toString());
    }

    @Test
    public void aSignatureOfAnyLengthGetsWindowsWithoutPadding() throws IOException {
        File file = ModelFiles.anyLength().write(folder.newFile());
        QuestionAnswerer answerer = new QuestionAnswerer(ModelPackage.read(file), this::findZ);
        answerer.ask("a b c d e f g", "q", true, QUIET);
        answerer.ask("z", "b", true, QUIET);
        answerer.ask("a z.", "b?", true, QUIET);
        assertEquals("[qa, qa, qa]", calls.toString());
        assertEquals(11, inputs.get(0)[0].length);
        assertArrayEquals(new int[] {CLS, 11, SEP, 35, SEP}, inputs.get(1)[0]);
        assertArrayEquals(new int[] {1, 1, 1, 1, 1}, inputs.get(1)[1]);
        assertArrayEquals(new int[] {0, 0, 0, 1, 1}, inputs.get(1)[2]);
        assertEquals(8, inputs.get(2)[0].length);
    }

    @Test
    public void aShorterWindowAfterALongerOneKeepsNothingOfIt() throws IOException {
        QuestionAnswerer answerer = answerer();
        answerer.ask("a b c d", "q", true, QUIET);
        answerer.ask("e", "", true, QUIET);
        assertArrayEquals(new int[] {CLS, SEP, 14, SEP, PAD, PAD, PAD, PAD}, inputs.get(1)[0]);
        assertArrayEquals(new int[] {1, 1, 1, 1, 0, 0, 0, 0}, inputs.get(1)[1]);
        assertArrayEquals(new int[] {0, 0, 1, 1, 0, 0, 0, 0}, inputs.get(1)[2]);
    }

    @Test
    public void aQuestionThatIsTooLongIsCut() throws IOException {
        answerer().ask("z", "a b c d e f g h", true, QUIET);
        assertArrayEquals(new int[] {CLS, 10, 11, 12, 13, SEP, 35, SEP}, inputs.get(0)[0]);
    }

    @Test
    public void aLongPassageIsSeenInWindows() throws IOException {
        // 16 minus [CLS], a, and two [SEP] leaves 12 tokens; the steps are 4.
        List<String> progress = new ArrayList<>();
        String passage = "a b c d e f g h i j k l m n o p z r";
        Answers answers = answerer().ask(passage, "a", true, (done, total) -> progress.add(done + "/" + total));
        assertEquals("[qa16, qa16, qa16]", calls.toString()); // 18 tokens: 0-11, 4-15, 8-17
        assertEquals("[0/0, 0/3, 1/3, 2/3, 3/3]", progress.toString());
        assertEquals(3, answers.windows);
        assertEquals(32, answers.best.start);
        assertArrayEquals(new int[] {CLS, 10, SEP, 18, 19, 20, 21, 22, 23, 24, 25, 35, 27, SEP, PAD, PAD}, inputs.get(2)[0]);
    }

    @Test
    public void anAnswerDeepInALongPassageIsFoundAtItsPlace() throws IOException {
        StringBuilder passage = new StringBuilder();
        for (int word = 0; word < 5000; word++) {
            passage.append(word == 3210 ? "\u00dcz\ud83d\ude00 z!" : "" + (char) ('a' + word % 20));
            passage.append(word % 9 == 0 ? "\r\n" : " ");
        }
        int place = passage.indexOf(" z!") + 1;
        Answers answers = answerer().ask(passage.toString(), "where is z?", true, QUIET);
        assertEquals(place, answers.best.start);
        assertEquals(place + 1, answers.best.end);
        assertEquals(calls.size(), answers.windows);
        assertTrue("" + answers.windows, answers.windows > 1200);
    }

    @Test
    public void anEmptyPassageHasNoAnswer() throws IOException {
        for (String passage : new String[] {"", " \n\t ", "\u0000\u0003"}) {
            inputs.clear();
            Answers answers = answerer().ask(passage, "a?", true, QUIET);
            assertArrayEquals(new int[] {CLS, 10, 0, SEP, SEP, PAD, PAD, PAD}, inputs.get(0)[0]);
            assertArrayEquals(new int[] {0, 0, 0, 0, 1, 0, 0, 0}, inputs.get(0)[2]);
            assertNull(answers.best);
            assertTrue(answers.candidates.isEmpty());
            assertEquals(1, answers.windows);
            assertEquals(2, answers.nullScore, 0);
        }
    }

    @Test
    public void anEmptyQuestionIsAsked() throws IOException {
        Answers answers = answerer().ask("a z", "", true, QUIET);
        assertArrayEquals(new int[] {CLS, SEP, 10, 35, SEP, PAD, PAD, PAD}, inputs.get(0)[0]);
        assertEquals(2, answers.best.start);
        answerer().ask("", "", true, QUIET);
        assertArrayEquals(new int[] {CLS, SEP, SEP, PAD, PAD, PAD, PAD, PAD}, inputs.get(1)[0]);
    }

    @Test
    public void specialTokensInATextAreText() throws IOException {
        answerer().ask("[SEP] z", "[CLS]", true, QUIET);
        for (int[][] window : inputs) {
            int separators = 0;
            for (int i = 0; i < window[0].length; i++) {
                separators += window[0][i] == SEP ? 1 : 0;
                assertTrue(i == 0 || window[0][i] != CLS);
            }
            assertEquals(2, separators);
        }
    }

    @Test
    public void aPassagesTokensServeAllItsQuestions() throws IOException {
        QuestionAnswerer answerer = answerer();
        answerer.ask("a b z", "a", true, QUIET);
        Tokens tokens = answerer.tokens("a b z", QUIET);
        answerer.ask(new String("a b z"), "b", true, QUIET);
        assertSame(tokens, answerer.tokens("a b z", QUIET));
        assertEquals(0, answerer.ask("z", "b", true, QUIET).best.start);
        assertNotSame(tokens, answerer.tokens("a b z", QUIET));
        assertEquals(4, answerer.ask("a b z", "b", true, QUIET).best.start);
    }

    @Test
    public void afterCancellingTheNextQuestionIsAnswered() throws IOException {
        String passage = "a b c d e f g h i j k l m n o p z r";
        QuestionAnswerer answerer = answerer();
        String expected = shown(answerer.ask(passage, "a", true, QUIET));
        calls.clear();
        Progress stop =
                (done, total) -> {
                    if (done == 2) {
                        throw new CancellationException();
                    }
                };
        assertThrows(CancellationException.class, () -> answerer.ask(passage, "b", true, stop));
        assertEquals(2, calls.size());
        assertEquals(expected, shown(answerer.ask(passage, "a", true, QUIET)));
        assertThrows(CancellationException.class, () -> answerer.ask("another " + passage, "b", true, stop));
        assertEquals(expected, shown(answerer.ask(passage, "a", true, QUIET)));
    }

    @Test
    public void whatTheModelThrowsComesThroughAndHarmsNothing() throws IOException {
        boolean[] broken = {false};
        QuestionAnswerer answerer =
                answerer(
                        (signature, ids, mask, types, start, end) -> {
                            findZ(signature, ids, mask, types, start, end);
                            Arrays.fill(ids, -1); // a model may overwrite its arrays
                            Arrays.fill(mask, -1);
                            Arrays.fill(types, -1);
                            if (broken[0]) {
                                throw new IllegalStateException("out of order");
                            }
                        });
        String expected = shown(answerer.ask("a z", "b", true, QUIET));
        broken[0] = true;
        assertThrows(IllegalStateException.class, () -> answerer.ask("c z", "b", true, QUIET));
        broken[0] = false;
        assertEquals(expected, shown(answerer.ask("a z", "b", true, QUIET)));
        assertArrayEquals(inputs.get(0), inputs.get(2));
    }

    @Test
    public void logitsThatAreNoNumbersAreNoAnswer() throws IOException {
        QuestionAnswerer answerer = answerer((signature, ids, mask, types, start, end) -> Arrays.fill(start, Float.NaN));
        assertThrows(ArithmeticException.class, () -> answerer.ask("a z", "b", true, QUIET));
    }

    @Test
    public void theThresholdOfTheModelDecides() throws IOException {
        // z scores 10, [CLS] 2: the difference is -8.
        for (String threshold : new String[] {"-8", "-8.1"}) {
            String field = "\"null_threshold\": ";
            ModelFiles files = ModelFiles.small().change(ModelFiles.INFO, field + "null", field + threshold);
            ModelPackage model = ModelPackage.read(files.write(folder.newFile()));
            Answers answers = new QuestionAnswerer(model, this::findZ).ask("a z", "b", true, QUIET);
            assertEquals(threshold.equals("-8"), answers.best != null);
            assertEquals(2, answers.candidates.size());
        }
    }

    @Test
    public void theProbeRunsOnTheSamePathAsQuestions() throws IOException {
        float[][] recorded = {{0.5f, -1, -1.5f, 3.25f, -2}, {0.25f, -1, -2, 2.5f, -1}};
        QuestionAnswerer answerer =
                answerer(
                        (signature, ids, mask, types, start, end) -> {
                            findZ(signature, ids, mask, types, start, end);
                            for (int i = 0; i < signature.length; i++) {
                                boolean first = signature.length == 8 && i < 5;
                                start[i] = first ? recorded[0][i] : i;
                                end[i] = first ? recorded[1][i] : -i;
                            }
                        });
        assertEquals(0, answerer.checkProbe(), 0);
        assertEquals("[qa8, qa12, qa16]", calls.toString());
        assertArrayEquals(new int[] {CLS, 10, SEP, 11, SEP, PAD, PAD, PAD}, inputs.get(0)[0]);
        assertArrayEquals(new int[] {1, 1, 1, 1, 1, 0, 0, 0}, inputs.get(0)[1]);
        assertArrayEquals(new int[] {0, 0, 0, 1, 1, 0, 0, 0}, inputs.get(0)[2]);
        assertThrows(ProbeException.class, () -> answerer().checkProbe());
    }

    private static String shown(Answers answers) {
        StringBuilder out = new StringBuilder().append(answers.nullScore).append(' ').append(answers.windows);
        for (Candidate candidate : answers.candidates) {
            out.append(' ').append(candidate.score).append('@').append(candidate.start).append('-').append(candidate.end);
        }
        return out.toString();
    }
}
