package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.List;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;
import org.pocketqa.core.StoredModel;
import org.tensorflow.lite.Interpreter;

/** One question on two models. */
public class ComparisonTest {
    @Rule public final Phone phone = new Phone();

    private Comparison comparison;

    @Before
    public void start() throws IOException {
        phone.startWith(ModelBytes.small());
        phone.take("other.tflite", ModelBytes.named("other"));
        phone.use("small-fp32.tflite");
        phone.read("a z c");
        comparison = phone.app.comparison;
    }

    private StoredModel other() {
        List<StoredModel> others = comparison.others(phone.app.shelf.models());
        assertEquals(1, others.size());
        return others.get(0);
    }

    private void untilAnswered() {
        phone.until(() -> comparison.asking() == null);
    }

    @Test
    public void theOtherModelReadsAsMuchAsTheFirstWasToldTo() {
        for (boolean all : new boolean[] {true, false}) {
            phone.app.settings.setReadAll(all);
            phone.ask("b");
            phone.app.settings.setReadAll(!all);
            assertTrue(comparison.ask(other()));
            untilAnswered();
            assertEquals(all, comparison.results().get(1).readAll);
        }
    }

    @Test
    public void bothAnswersStandSideBySide() {
        assertTrue(comparison.others(phone.app.shelf.models()).isEmpty()); // no question was asked yet
        phone.ask("b");
        assertEquals(1, comparison.results().size());
        assertTrue(comparison.ask(other()));
        assertEquals("other-fp32.tflite", comparison.asking().name);
        untilAnswered();
        List<Result> results = comparison.results();
        assertEquals("small", results.get(0).model.facts.name);
        assertEquals("other", results.get(1).model.facts.name);
        assertEquals("z", results.get(1).text(0));
        String column = ResultText.column(phone.app, results.get(1));
        assertTrue(column, column.startsWith("column[other, fp32, z, "));
        assertEquals("small-fp32.tflite", phone.inUse());
        assertEquals("the other one is closed again", 1, Interpreter.open());
    }

    @Test
    public void theNextQuestionStandsAlone() {
        phone.ask("b");
        assertTrue(comparison.ask(other()));
        untilAnswered();
        phone.ask("c");
        assertEquals(1, comparison.results().size());
    }

    @Test
    public void aModelThatFailsIsASentenceAndTheFirstAnswerStays() {
        phone.ask("b");
        Interpreter.script =
                new Interpreter.Script() {
                    @Override
                    public void opening(File file) {
                        throw new IllegalArgumentException("no such operator");
                    }
                };
        assertTrue(comparison.ask(other()));
        untilAnswered();
        assertEquals("runtime_refuses[no such operator]", comparison.notice());
        assertEquals(1, comparison.results().size());
        Interpreter.script = new Interpreter.Script();
        assertEquals("z", phone.ask("b"));
        assertNull("of another question", comparison.notice());
    }

    @Test
    public void aCancelLeavesTheFirstAnswer() {
        phone.ask("b");
        assertTrue(comparison.ask(other()));
        phone.app.engine.cancel();
        untilAnswered();
        assertEquals(1, comparison.results().size());
        assertNull(comparison.notice());
    }

    @Test
    public void withoutAQuestionThereIsNothingToCompare() {
        assertFalse(comparison.ask(phone.model("other-fp32.tflite")));
    }
}
