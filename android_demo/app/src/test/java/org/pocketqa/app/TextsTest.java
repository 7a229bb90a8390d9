package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;

/** Texts of the screens. A text is the name of its resource with its arguments. */
public class TextsTest {
    @Rule public final Phone phone = new Phone();

    @Before
    public void start() throws IOException {
        phone.startWith(ModelBytes.small());
    }

    private String notice() {
        return PanelText.notice(phone.app.getResources(), phone.app.workspace, phone.app.engine.state(), null);
    }

    private static String letters(int n) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < n; i++) {
            text.append((char) ('a' + i % 25)).append(' ');
        }
        return text.toString();
    }

    @Test
    public void whatIsMissingOrUnderWayIsSaid() throws IOException {
        assertEquals("", notice());
        phone.app.passages.load(() -> Passage.own("t", "s", " ", phone.app.getResources()));
        assertEquals("notice_reading", notice());
        phone.until(() -> !phone.app.workspace.reading());
        assertEquals("text_empty", notice());
        phone.app.engine.setThreads(4);
        assertEquals("text_empty\nnotice_loading[small-fp32.tflite]", notice());
        phone.until(() -> phone.app.engine.state().loading == null);
        phone.take("bad.tflite", new byte[100]);
        assertTrue(notice(), notice().startsWith("text_empty\nnotice_problem[bad.tflite, "));
    }

    @Test
    public void withoutAModelThatIsSaid() {
        assertTrue(phone.privateFile("models/small-fp32.tflite").delete());
        phone.preferences.edit().remove("model").apply();
        phone.start();
        assertEquals("notice_no_model", notice());
        EngineState none = phone.app.engine.state();
        assertEquals("copying", PanelText.notice(phone.app.getResources(), phone.app.workspace, none, "copying"));
        assertEquals("while it looks", "", PanelText.notice(phone.app.getResources(), phone.app.workspace, none, ""));
    }

    @Test
    public void aLongAnswerIsCutBetweenTwoCharacters() {
        StringBuilder word = new StringBuilder("a");
        for (int i = 0; i < 1500; i++) {
            word.append("\ud83d\ude00"); // one character with two UTF-16 units
        }
        phone.read(word.toString());
        assertEquals(word.substring(0, 1999) + "\u2026", phone.ask("b"));
    }

    @Test
    public void progressCountsFromOneToTheLast() {
        AskJob job = new AskJob(() -> {});
        assertEquals("working_tokenizing", PanelText.progress(phone.app.getResources(), job));
        job.windowDone(0, 3);
        assertEquals("working_window[1, 3]", PanelText.progress(phone.app.getResources(), job));
        job.windowDone(3, 3);
        assertEquals("working_window[3, 3]", PanelText.progress(phone.app.getResources(), job));
    }

    @Test
    public void ofALongQuestionItIsSaidWhatWasLeftOut() {
        int most = 4; // max_question_length of the model
        phone.read("a b z");
        phone.ask(letters(most));
        assertEquals("", ResultText.leftOut(phone.app, phone.app.workspace.result().answers));
        phone.ask(letters(most + 3));
        String measured = ResultText.measurements(phone.app, phone.app.workspace.result());
        assertTrue(measured, measured.startsWith("question_cut[" + most + ", " + (most + 3) + "]measurements["));
    }

    @Test
    public void ofALongTextItIsSaidWhatWasLeftOut() {
        phone.read("a b c");
        phone.ask("b");
        String measured = ResultText.measurements(phone.app, phone.app.workspace.result());
        assertTrue(measured, measured.startsWith("measurements[one_window["));
        phone.read(letters(200) + "z " + letters(200));
        assertEquals("z", phone.ask("z"));
        int all = phone.app.workspace.result().answers.windowsInText;
        assertTrue("windows: " + all, all > 50);
        measured = ResultText.measurements(phone.app, phone.app.workspace.result());
        assertTrue(measured, measured.startsWith("left_out[16, " + all + "]measurements["));
        phone.app.settings.setReadAll(true);
        assertEquals("z", phone.ask("z"));
        assertEquals(all, phone.app.workspace.result().answers.windows);
        measured = ResultText.measurements(phone.app, phone.app.workspace.result());
        assertTrue(measured, measured.startsWith("measurements["));
    }
}
