package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import org.junit.Test;

/** Windows selected from long texts: the same as in Python, with the same assignment of tokens. */
public class PreselectionTest {
    private static final Progress QUIET = (done, total) -> {};

    private final QASettings settings = TestSettings.of(9, 2, 3, 1, 1); // question of one token: windows of five, step 2

    public PreselectionTest() throws ModelFileException {}

    /** Returns tokens with these ids; offsets do not matter. */
    private static Tokens tokens(int... ids) {
        Tokens tokens = new Tokens();
        for (int id : ids) {
            tokens.add(id, 0, 1);
        }
        return tokens;
    }

    private static List<Integer> firsts(List<int[]> spans) {
        List<Integer> firsts = new ArrayList<>();
        for (int[] span : spans) {
            firsts.add(span[0]);
        }
        return firsts;
    }

    @Test
    public void golden() throws Exception {
        Map<?, ?> answers = (Map<?, ?>) Golden.json("android/answers.json.gz");
        List<?> contexts = (List<?>) answers.get("contexts");
        ModelPackage model = ModelPackage.read(ModelFiles.good());
        List<?> rows = (List<?>) Golden.json("android/preselection.json");
        assertTrue(rows.size() >= 30);
        for (Object item : rows) {
            Map<?, ?> row = (Map<?, ?>) item;
            StringBuilder text = new StringBuilder();
            for (Object index : (List<?>) row.get("contexts")) {
                text.append(text.length() == 0 ? "" : "\n").append(contexts.get(((Double) index).intValue()));
            }
            Tokens passage = model.tokenizer().encode(text.toString());
            Tokens question = model.tokenizer().encode((String) row.get("question"));
            int questionSize = Math.min(question.size(), model.settings.maxQuestionLength);
            List<int[]> all = Windows.spans(questionSize, passage.size(), model.settings);
            List<Double> wanted = new ArrayList<>();
            for (int first : firsts(Preselection.choose(question, questionSize, passage, all, QUIET))) {
                wanted.add((double) first);
            }
            assertEquals(((Double) row.get("windows")).intValue(), all.size());
            assertEquals((String) row.get("question"), row.get("first_tokens"), wanted);
        }
    }

    @Test
    public void aTextOfFewWindowsIsReadWhole() {
        Tokens passage = tokens(new int[5 + 2 * (Preselection.MOST_WINDOWS - 1)]);
        List<int[]> all = Windows.spans(1, passage.size(), settings);
        assertEquals(Preselection.MOST_WINDOWS, all.size());
        assertSame(all, Preselection.choose(tokens(7), 1, passage, all, QUIET));
    }

    @Test
    public void ofEqualWindowsTheEarlierAreRead() {
        int[] ids = new int[105]; // 51 windows
        ids[90] = 7;
        Tokens passage = tokens(ids);
        List<int[]> all = Windows.spans(1, passage.size(), settings);
        assertEquals(51, all.size());
        List<Integer> firsts = firsts(Preselection.choose(tokens(7), 1, passage, all, QUIET));
        assertEquals(16, firsts.size());
        assertEquals(Arrays.asList(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 86, 88, 90), firsts);
    }

    @Test
    public void aTokenCountsInTheWindowReadThatSeesItBest() {
        int[] ids = new int[105];
        ids[90] = 7;
        Tokens passage = tokens(ids);
        List<int[]> all = Windows.spans(1, passage.size(), settings);
        List<Window> read = Windows.over(Preselection.choose(tokens(7), 1, passage, all, QUIET), Windows.contextBegin(1));
        Window last = read.get(15); // tokens 90 to 94; no window that starts later is read
        assertFalse(last.hasMaxContext(0)); // in the middle of 88 to 92
        assertTrue(last.hasMaxContext(4));
    }

    @Test
    public void aLongTextReportsWhileItIsSearchedAndCanBeCancelled() {
        Tokens passage = tokens(new int[5 + 2 * 999]);
        List<int[]> all = Windows.spans(1, passage.size(), settings);
        assertEquals(1000, all.size());
        int[] reports = {0};
        Preselection.choose(tokens(7), 1, passage, all, (done, total) -> reports[0]++);
        assertEquals(4, reports[0]);
        Progress stop =
                (done, total) -> {
                    throw new CancellationException();
                };
        assertThrows(CancellationException.class, () -> Preselection.choose(tokens(7), 1, passage, all, stop));
    }
}
