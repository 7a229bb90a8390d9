package org.pocketqa.app;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import android.util.Log;
import java.io.IOException;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;

/** The last answer after Android ended the process: it saves the main screen's state, and the passage is in a file. */
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

    /** Ends the process as Android does, and starts the app and its main screen again. */
    private void restart() {
        phone.savedAnswer = phone.app.workspace.saved();
        phone.start();
    }

    @Test
    public void passageQuestionAnswerAndRunnersUpAreShownAgain() {
        assertEquals("z", phone.ask("b?"));
        Result before = result();
        phone.app.workspace.show(1);
        restart();
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
    public void itOutlivesSeveralProcesses() {
        phone.ask("b");
        restart();
        restart();
        assertEquals("z", result().text(phone.app.workspace.shown()));
    }

    @Test
    public void anAnswerThatWaitsForItsPassageIsSavedAgain() {
        phone.ask("b");
        String saved = phone.app.workspace.saved();
        Workspace fresh = new Workspace(phone.app, phone.app.engine, phone.app.settings);
        fresh.restore(saved);
        assertNull(fresh.result());
        assertEquals(saved, fresh.saved());
        fresh.setPassage(phone.app.workspace.passage());
        assertEquals(saved, fresh.saved());
        assertNotNull(fresh.result());
    }

    @Test
    public void withoutAnAnswerNothingIsSaved() {
        assertNull(phone.app.workspace.saved());
        restart();
        assertNull(result());
    }

    @Test
    public void anAnswerAboutAnotherTextIsDropped() {
        phone.ask("b");
        phone.savedAnswer = phone.app.workspace.saved();
        phone.read(TEXT.replace('c', 'd'));
        phone.start();
        assertNull(result());
        assertNull(phone.app.workspace.saved());
    }

    @Test
    public void aNewerAnswerOrQuestionIsKept() {
        phone.ask("b");
        String saved = phone.app.workspace.saved();
        phone.ask("c");
        phone.app.workspace.restore(saved);
        assertEquals("c", result().question);
    }

    @Test
    public void aDamagedStateIsDropped() {
        phone.ask("b");
        phone.savedAnswer = phone.app.workspace.saved().replace("\"question\"", "\"quest\"");
        phone.start();
        assertNull(result());
        assertEquals(1, Log.LOGGED.size());
    }
}
