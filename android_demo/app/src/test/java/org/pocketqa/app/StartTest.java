package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.content.FakePreferences;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;
import org.tensorflow.lite.Interpreter;

/** What the app does by itself when it starts, and what the last process left it. */
public class StartTest {
    private static final byte[] MODEL = ModelBytes.small();

    @Rule public final Phone phone = new Phone();

    /** The preferences while a file is being opened: what the next process finds if native code ends this one there. */
    private final class Crash extends Interpreter.Script {
        private volatile FakePreferences left;

        @Override
        public void opening(File file) {
            left = phone.preferences.copy();
        }
    }

    private Crash crash() {
        Crash crash = new Crash();
        Interpreter.script = crash;
        return crash;
    }

    private void restart(FakePreferences left) {
        phone.preferences = left;
        phone.start();
    }

    @Test
    public void theOnlyModelIsLoaded() throws IOException {
        phone.startWith(MODEL);
        assertEquals(EngineState.Phase.READY, phone.app.engine.state().phase);
        assertNull(phone.problem());
        assertEquals(0, phone.app.engine.state().model.probeDifference, 0);
        assertEquals(phone.app.externalFiles, phone.app.folders.pushFolder());
    }

    @Test
    public void ofSeveralModelsTheChosenOneIsLoaded() throws IOException {
        phone.push("a.tflite", MODEL);
        phone.push("b.tflite", MODEL);
        phone.start();
        assertNull(phone.inUse());
        phone.use("b.tflite");
        phone.start();
        assertEquals("b.tflite", phone.inUse());
    }

    @Test
    public void aChosenModelThatIsGoneIsNamedOnce() throws IOException {
        phone.startWith(MODEL);
        phone.remove("good.tflite");
        phone.push("other.tflite", MODEL);
        phone.start();
        assertNull(phone.inUse());
        assertEquals("good.tflite: fault_gone", phone.problem());
        phone.app.engine.dismissProblem();
        phone.look();
        assertNull(phone.problem());
    }

    @Test
    public void afterACrashOnAnImportedFileTheModelInUseIsLoadedAndTheFileNamed() throws IOException {
        phone.startWith(MODEL);
        Crash crash = crash();
        phone.copy("my/bad.tflite", MODEL);
        restart(crash.left);
        assertEquals("good.tflite", phone.inUse());
        assertEquals("my/bad.tflite: fault_ended", phone.problem());
        phone.start();
        assertEquals("good.tflite", phone.inUse());
        assertNull("told only once", phone.problem());
    }

    @Test
    public void afterACrashOnAnotherStoredModelTheModelInUseIsLoaded() throws IOException {
        phone.startWith(MODEL);
        phone.push("bad.tflite", MODEL);
        phone.look();
        Crash crash = crash();
        phone.use("bad.tflite");
        restart(crash.left);
        assertEquals("good.tflite", phone.inUse());
        assertEquals("bad.tflite: fault_ended", phone.problem());
    }

    @Test
    public void afterACrashOnTheFirstFileEverThereIsNoModel() {
        phone.start();
        Crash crash = crash();
        phone.copy("bad.tflite", MODEL);
        assertTrue(phone.privateFile("models/bad.tflite").delete()); // it had not got this name yet
        restart(crash.left);
        assertNull(phone.inUse());
        assertEquals("bad.tflite: fault_ended", phone.problem());
        phone.start();
        assertNull("told only once", phone.problem());
    }

    @Test
    public void theModelThatEndsTheAppIsNotLoadedAgainByItself() throws IOException {
        phone.startWith(MODEL);
        Crash crash = crash();
        phone.start();
        for (int start = 0; start < 2; start++) {
            restart(crash.left);
            assertNull(phone.inUse());
            assertEquals(0, Interpreter.OPENED.get());
            assertEquals("good.tflite: fault_ended", phone.problem());
        }
        phone.use("good.tflite"); // it may be another file by now
        assertEquals("good.tflite", phone.inUse());
        assertNull(phone.problem());
        phone.start();
        assertEquals("good.tflite", phone.inUse());
    }

    @Test
    public void aDeletedModelIsNotBlamed() throws IOException {
        phone.start();
        phone.copy("bad.tflite", MODEL);
        Crash crash = crash();
        phone.start();
        restart(crash.left);
        assertEquals("bad.tflite: fault_ended", phone.problem());
        phone.app.shelf.delete(phone.model("bad.tflite"));
        phone.until(() -> phone.app.shelf.models().isEmpty());
        phone.start();
        assertNull(phone.problem());
    }

    @Test
    public void aLoadThatFailsIsNoCrash() throws IOException {
        phone.startWith(MODEL);
        Interpreter.script =
                new Interpreter.Script() {
                    @Override
                    public void opening(File file) {
                        throw new OutOfMemoryError();
                    }
                };
        phone.app.engine.setThreads(4);
        phone.until(() -> phone.app.engine.state().loading == null);
        assertEquals("good.tflite: fault_memory", phone.problem());
        Interpreter.script = new Interpreter.Script();
        phone.start();
        assertNull(phone.problem());
        assertEquals("good.tflite", phone.inUse());
    }

    @Test
    public void whatAProcessLeftUnfinishedIsRemoved() throws IOException {
        assertTrue(phone.privateFile("models").mkdir());
        write("models/model1.unfinished", "x");
        phone.start();
        assertEquals(Collections.emptyList(), phone.privateFiles());
    }

    @Test
    public void theFirstPassageIsABundledOneAndLaterTheLastRead() throws IOException {
        phone.start();
        assertEquals(phone.app.passages.bundled().passages.get(0).text, phone.app.workspace.passage().text);
        assertFalse(phone.app.workspace.passage().questions.isEmpty());
        phone.read("\"quoted\"\r\nand \u00e9 \ud83d\ude00");
        phone.until(() -> phone.privateFile("passage").exists());
        phone.start();
        assertEquals("\"quoted\"\r\nand \u00e9 \ud83d\ude00", phone.app.workspace.passage().text);
        assertEquals("title", phone.app.workspace.passage().title);
    }

    @Test
    public void aDamagedPassageIsReplacedByABundledOne() throws IOException {
        write("passage", "{\"title\": 7}\ntext");
        phone.start();
        assertEquals(phone.app.passages.bundled().passages.get(0).text, phone.app.workspace.passage().text);
        assertNull(phone.app.workspace.notice());
    }

    private void write(String name, String text) throws IOException {
        try (FileOutputStream out = new FileOutputStream(phone.privateFile(name))) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        }
    }
}
