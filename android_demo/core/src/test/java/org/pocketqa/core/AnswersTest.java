package org.pocketqa.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.Test;

/** Answers as JSON and back. */
public class AnswersTest {
    private static final List<Candidate> TWO =
            Arrays.asList(new Candidate(0.1 + 0.2, 3, 7, 0.1 + 0.6), new Candidate(-1e-300, 7, 70000, 1e-300));

    private static Answers copy(Answers answers) throws ModelFileException {
        Answers copy = Answers.fromJson(answers.toJson());
        assertEquals(answers.toJson(), copy.toJson());
        assertArrayEquals(answers.probabilities(), copy.probabilities(), 0);
        return copy;
    }

    @Test
    public void everyNumberIsKept() throws Exception {
        Calibration calibration = new Calibration(Fields.parse("calibration", "{\"temperature\": 1.7, \"offset\": -0.3}"));
        Answers copy = copy(new Answers(TWO, -2.5, 0.7, calibration, 64, 70, 2, 5, 1L << 40, 7, 8));
        assertEquals(0.1 + 0.2, copy.best.score, 0);
        assertEquals(70000, copy.candidates.get(1).end);
        assertEquals(-1e-300, copy.candidates.get(1).score, 0);
        assertEquals(0.1 + 0.6, copy.best.share, 0);
        assertEquals(1e-300, copy.candidates.get(1).share, 0);
        assertEquals(-2.5, copy.nullScore, 0);
        assertEquals(64, copy.questionTokensRead);
        assertEquals(70, copy.questionTokens);
        assertEquals(5, copy.windowsInText);
        assertEquals(1L << 40, copy.tokenizeNanos);
        assertEquals(calibration.noAnswer(-2.5 - 0.1 - 0.2), copy.noAnswerProbability(), 1e-12);
    }

    @Test
    public void theDecisionIsKept() throws Exception {
        assertNull(copy(new Answers(TWO, 9, 0.7, null, 1, 1, 1, 1, 0, 0, 0)).best);
        assertEquals(3, copy(new Answers(TWO, 9, null, null, 1, 1, 1, 1, 0, 0, 0)).best.start);
        Answers empty = copy(new Answers(Collections.<Candidate>emptyList(), Double.POSITIVE_INFINITY, null, null, 1, 1, 0, 0, 0, 0, 0));
        assertNull(empty.best);
        assertEquals(Double.POSITIVE_INFINITY, empty.nullScore, 0);
    }

    @Test
    public void damagedJsonIsRefused() {
        String json = new Answers(TWO, 9, null, null, 1, 1, 1, 1, 0, 0, 0).toJson();
        assertThrows(ModelFileException.class, () -> Answers.fromJson(json.substring(1)));
        assertThrows(ModelFileException.class, () -> Answers.fromJson(json.replace("70000]", "70000, 1]")));
        assertThrows(ModelFileException.class, () -> Answers.fromJson(json.replace("1.0E-300]", "1.0E-300, 1]")));
        assertThrows(ModelFileException.class, () -> Answers.fromJson(json.replace("\"windows\"", "\"window\"")));
    }
}
