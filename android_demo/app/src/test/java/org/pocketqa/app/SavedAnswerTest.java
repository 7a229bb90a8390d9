package org.pocketqa.app;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import android.util.Log;
import java.io.IOException;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;

/** The last answer after the process ended: it is in the settings, and the passage in a file. */
public class SavedAnswerTest {
    private static final String TEXT = "a \"b\" c z \u00e9 \ud83d\ude00";

    @Rule public final Phone phone = new Phone();

    @Before
    public void start() throws IOException {
        phone.startWith(ModelBytes.small());
        phone.read(TEXT);
        phone.until(() -> phone.privateFile("passage").exists());
    }

    private Result result() {
        return phone.app.workspace.result();
    }

    @Test
    public void passageQuestionAnswerAndRunnersUpAreShownAgain() {
        assertEquals("z", phone.ask("b?"));
        Result before = result();
        phone.app.workspace.show(1);
        phone.start();
        Result after = result();
        assertEquals(TEXT, phone.app.workspace.passage().text);
        assertSame(phone.app.workspace.passage(), after.passage);
        assertEquals("b?", after.question);
        assertEquals(1, phone.app.workspace.shown());
        assertTrue("the screen scrolls to it", phone.app.workspace.takeUnseen());
        assertTrue(before.answers.candidates.size() > 1);
        assertEquals(before.answers.candidates.size(), after.answers.candidates.size());
        for (int i = 0; i < before.answers.candidates.size(); i++) {
            assertEquals(before.text(i), after.text(i));
            assertEquals(ResultText.score(phone.app, before, i), ResultText.score(phone.app, after, i));
        }
        assertArrayEquals(before.probabilities, after.probabilities, 0);
        assertEquals(ResultText.measurements(phone.app, before), ResultText.measurements(phone.app, after));
        assertEquals(ResultText.verdict(phone.app, before), ResultText.verdict(phone.app, after));
    }

    @Test
    public void aTextWithHalfAnEmojiKeepsItsAnswer() {
        phone.read("a \ude00 c \ud83d\ude00 z \ud83d");
        String read = "a \ufffd c \ud83d\ude00 z \ufffd";
        assertEquals(read, phone.app.workspace.passage().text);
        assertEquals("z", phone.ask("b?"));
        phone.start();
        assertEquals(read, phone.app.workspace.passage().text);
        assertEquals("b?", result().question);
    }

    @Test
    public void itOutlivesSeveralProcesses() {
        phone.ask("b");
        phone.start();
        phone.start();
        assertEquals("z", result().text(phone.app.workspace.shown()));
    }

    @Test
    public void anAnswerThatArrivesInTheBackgroundIsKept() {
        assertTrue(phone.app.workspace.ask("b"));
        assertNull("no answer yet", phone.app.settings.answer());
        phone.until(() -> phone.app.engine.state().job == null); // no screen saves its state after this
        phone.start();
        assertEquals("b", result().question);
        assertEquals("z", result().text(phone.app.workspace.shown()));
    }

    @Test
    public void withoutAnAnswerNothingIsShown() {
        phone.start();
        assertNull(result());
        phone.ask("b");
        assertTrue(phone.app.workspace.ask("c"));
        phone.app.engine.cancel();
        phone.until(() -> phone.app.engine.state().job == null);
        phone.start();
        assertNull("the answer to another question", result());
    }

    @Test
    public void anAnswerAboutAnotherTextIsDropped() {
        phone.ask("b");
        String answer = phone.app.settings.answer();
        phone.read(TEXT.replace('c', 'd'));
        assertNull(phone.app.settings.answer());
        phone.app.settings.setAnswer(answer); // as if the process ended before the new text was stored
        phone.start();
        assertNull(result());
        assertNull(phone.app.settings.answer());
    }

    @Test
    public void aDamagedAnswerIsDropped() {
        phone.ask("b");
        phone.app.settings.setAnswer(phone.app.settings.answer().replace("\"question\"", "\"quest\""));
        phone.start();
        assertNull(result());
        assertEquals(1, Log.LOGGED.size());
    }
}
