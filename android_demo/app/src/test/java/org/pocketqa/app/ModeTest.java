package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.Mode;
import org.pocketqa.core.ModelBytes;

/** When the app answers, by the chosen mode. The fake model gives z 70, c 24, and "no answer" 4. */
public class ModeTest {
    private static final byte[] MODEL = ModelBytes.calibrated(-60, -68);

    @Rule public final Phone phone = new Phone();

    private Result ask(Mode mode, String text) {
        phone.app.settings.setMode(mode);
        phone.read(text);
        assertTrue(phone.app.workspace.ask("b"));
        phone.until(() -> phone.app.engine.state().job == null);
        assertNull(phone.app.workspace.notice());
        return phone.app.workspace.result();
    }

    @Test
    public void eachModeHasItsThreshold() throws IOException {
        phone.startWith(MODEL);
        assertEquals(Mode.BALANCED, phone.app.settings.mode());
        assertNotNull(ask(Mode.ANSWERING, "a z").answers.best);
        assertNotNull(ask(Mode.BALANCED, "a z").answers.best);
        assertNull(ask(Mode.STRICT, "a z").answers.best);
        assertNotNull(ask(Mode.ANSWERING, "a c").answers.best);
        assertNull(ask(Mode.BALANCED, "a c").answers.best);
        assertNull(ask(Mode.STRICT, "a c").answers.best);
    }

    @Test
    public void theChoiceIsKeptAndBalancedIsUsedWhereTheFileHasNoStrictThreshold() throws IOException {
        phone.startWith(MODEL);
        phone.app.settings.setMode(Mode.STRICT);
        phone.take("other.tflite", ModelBytes.named("other"));
        assertFalse(phone.app.engine.state().model.strict);
        assertEquals(Mode.BALANCED, phone.app.engine.state().model.usable(Mode.STRICT));
        assertEquals("a model without thresholds always answers", "z", ask(Mode.STRICT, "a z").text(0));
        phone.start();
        assertEquals(Mode.STRICT, phone.app.settings.mode());
        phone.use("small-fp32.tflite");
        assertEquals(Mode.STRICT, phone.app.engine.state().model.usable(Mode.STRICT));
    }

    @Test
    public void aDeclinedQuestionShowsTheBestCandidate() throws IOException {
        phone.startWith(MODEL);
        Result declined = ask(Mode.STRICT, "a z");
        assertEquals(Workspace.NONE, phone.app.workspace.shown());
        assertEquals("not_sure[z]\nreads_english", ResultText.declined(phone.app, declined));
        assertEquals("no_span", ResultText.declined(phone.app, ask(Mode.STRICT, "\ufffd")));
    }

    @Test
    public void aCalibratedFileShowsProbabilities() throws IOException {
        phone.startWith(MODEL);
        String score = ResultText.score(phone.app, ask(Mode.BALANCED, "z"), 0);
        double right = 1 - 1 / (1 + Math.exp((66 - 10) / 20.0)); // calibrated from null score - score = -66
        assertEquals("candidate_probability[70.0, " + 100 * right + "]", score);
        phone.take("other.tflite", ModelBytes.named("other"));
        assertEquals("candidate_score[70.0, 100.0]", ResultText.score(phone.app, ask(Mode.BALANCED, "z"), 0));
    }
}
