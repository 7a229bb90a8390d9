package org.pocketqa.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.Test;

/** More than 500 real questions with logits of a real int8 student. Windows and answers must equal Python's. */
public class GoldenAnswersTest {
    private final Map<?, ?> golden = (Map<?, ?>) Golden.json("android/answers.json.gz");
    private final List<?> contexts = (List<?>) golden.get("contexts");
    private final List<?> thresholds = (List<?>) golden.get("thresholds");
    private final List<?> questions = (List<?>) golden.get("questions");

    public GoldenAnswersTest() throws Exception {}

    @Test
    public void everyQuestionHasPythonsWindowsAndAnswers() throws Exception {
        ModelPackage model = ModelPackage.read(ModelFiles.good());
        Replay replay = new Replay();
        QuestionAnswerer answerer = new QuestionAnswerer(model, replay);
        assertTrue("questions: " + questions.size(), questions.size() >= 500);
        for (Object row : questions) {
            Map<?, ?> question = (Map<?, ?>) row;
            String id = (String) question.get("id");
            String passage = (String) contexts.get(number(question.get("context")).intValue());
            replay.expect(id, (List<?>) question.get("windows"));
            Answers answers = answerer.ask(passage, (String) question.get("question"), true, (done, total) -> {});
            assertEquals(id + ": windows", ((List<?>) question.get("windows")).size(), answers.windows);
            assertEquals(id + ": null score", number(question.get("null_score")), answers.nullScore, 0);
            checkCandidates(id, passage, (List<?>) question.get("candidates"), answers.candidates);
            checkDecisions(id, (List<?>) question.get("answered"), answers);
        }
    }

    private static void checkCandidates(String id, String passage, List<?> wanted, List<Candidate> seen) {
        assertEquals(id + ": candidates", wanted.size(), seen.size());
        for (int i = 0; i < wanted.size(); i++) {
            List<?> candidate = (List<?>) wanted.get(i);
            String where = id + ": candidate " + i;
            assertEquals(where, number(candidate.get(0)), seen.get(i).score, 0);
            assertEquals(where, number(candidate.get(1)).intValue(), passage.codePointCount(0, seen.get(i).start));
            assertEquals(where, number(candidate.get(2)).intValue(), passage.codePointCount(0, seen.get(i).end));
            assertEquals(where, number(candidate.get(3)), seen.get(i).share, 1e-12);
        }
    }

    private void checkDecisions(String id, List<?> wanted, Answers answers) {
        for (int i = 0; i < thresholds.size(); i++) {
            Double threshold = (Double) thresholds.get(i);
            boolean answered = Answers.answered(answers.candidates, answers.nullScore, threshold);
            assertEquals(id + ": answered at threshold " + threshold, wanted.get(i), answered);
        }
    }

    private static Double number(Object value) {
        return (Double) value;
    }

    /** Checks the recorded window, then returns its recorded logits. */
    private static final class Replay implements LogitsModel {
        private String id;
        private List<?> windows;
        private int next;

        void expect(String id, List<?> windows) {
            this.id = id;
            this.windows = windows;
            next = 0;
        }

        @Override
        public void run(Signature signature, int[] ids, int[] mask, int[] types, float[] startLogits, float[] endLogits) {
            Map<?, ?> window = (Map<?, ?>) windows.get(next++);
            List<?> recorded = (List<?>) window.get("input_ids");
            int[] wanted = new int[signature.length];
            int[] wantedMask = new int[signature.length];
            for (int i = 0; i < recorded.size(); i++) {
                wanted[i] = number(recorded.get(i)).intValue();
                wantedMask[i] = 1;
                startLogits[i] = number(((List<?>) window.get("start_logits")).get(i)).floatValue();
                endLogits[i] = number(((List<?>) window.get("end_logits")).get(i)).floatValue();
            }
            for (int i = recorded.size(); i < signature.length; i++) { // padding must not be read
                startLogits[i] = 1000;
                endLogits[i] = 1000;
            }
            assertArrayEquals(id + ": tokens of window " + next, wanted, ids);
            assertArrayEquals(id + ": mask of window " + next, wantedMask, mask);
        }
    }
}
