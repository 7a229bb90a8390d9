package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.content.FakePreferences;
import android.content.res.AssetManager;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;
import org.tensorflow.lite.Interpreter;

/** What the app does at a start, and with the state of the last process. */
public class StartTest {
    private static final byte[] MODEL = ModelBytes.small();

    @Rule public final Phone phone = new Phone();

    /** Returns the preferences while a file is being opened: the state if native code ends the process there. */
    private class Crash extends Interpreter.Script {
        volatile FakePreferences left;

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

    /** Starts with a model in use after the app ended on another one. */
    private Crash crashOnAnother() throws IOException {
        phone.startWith(MODEL);
        Crash crash = crash();
        phone.take("bad.tflite", ModelBytes.named("bad"));
        restart(crash.left);
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
        phone.push("1.tflite", ModelBytes.named("a"));
        phone.push("2.tflite", ModelBytes.named("b"));
        phone.start();
        assertEquals("the first there was", "a-fp32.tflite", phone.inUse());
        phone.use("b-fp32.tflite");
        phone.start();
        assertEquals("b-fp32.tflite", phone.inUse());
    }

    @Test
    public void aChosenModelThatIsGoneIsNamedOnce() throws IOException {
        phone.startWith(MODEL);
        phone.take("other.tflite", ModelBytes.named("other"));
        assertTrue(phone.privateFile("models/other-fp32.tflite").delete());
        phone.start();
        assertNull(phone.inUse());
        assertEquals("other-fp32.tflite: fault_gone", phone.problem());
        phone.app.engine.report(null);
        phone.look();
        assertNull(phone.problem());
    }

    @Test
    public void afterACrashOnAnotherFileTheModelInUseIsLoadedAndTheFileNamed() throws IOException {
        crashOnAnother();
        assertEquals("small-fp32.tflite", phone.inUse());
        assertTrue(Interpreter.xnnpack);
        assertEquals("bad-fp32.tflite: fault_ended", phone.problem());
        phone.use("bad-fp32.tflite");
        assertTrue("once may be any end of a process", Interpreter.xnnpack);
        phone.use("small-fp32.tflite");
        phone.start();
        assertEquals("small-fp32.tflite", phone.inUse());
        assertNull("told only once", phone.problem());
    }

    @Test
    public void afterACrashOnAModelOfTheSameNameTheOldOneIsLoaded() throws IOException {
        phone.startWith(MODEL);
        String before = phone.model("small-fp32.tflite").sha256();
        Map<String, byte[]> files = new HashMap<>();
        Crash crash =
                new Crash() {
                    @Override
                    public void opening(File file) {
                        super.opening(file);
                        try {
                            for (String name : phone.privateFiles()) {
                                files.put(name, Files.readAllBytes(phone.privateFile("models/" + name).toPath()));
                            }
                        } catch (IOException unexpected) {
                            throw new AssertionError(unexpected);
                        }
                    }
                };
        Interpreter.script = crash;
        phone.take("new.tflite", ModelBytes.changed());
        Interpreter.script = new Interpreter.Script();
        for (Map.Entry<String, byte[]> file : files.entrySet()) { // as the crash left them
            Files.write(phone.privateFile("models/" + file.getKey()).toPath(), file.getValue());
        }
        restart(crash.left);
        assertEquals(before, phone.model("small-fp32.tflite").sha256());
        assertEquals("small-fp32.tflite", phone.inUse());
        assertEquals("small-fp32.tflite: fault_replacement", phone.problem());
        assertEquals(Arrays.asList("small-fp32.tflite"), phone.privateFiles());
    }

    @Test
    public void anotherModelThatEndsTheAppTwiceIsTriedWithoutXnnpackToo() throws IOException {
        Crash crash = crashOnAnother();
        phone.use("bad-fp32.tflite");
        assertTrue("once may be any end of a process", Interpreter.xnnpack);
        restart(crash.left);
        assertEquals("loaded well between the two", "small-fp32.tflite", phone.inUse());
        phone.use("bad-fp32.tflite");
        assertFalse(Interpreter.xnnpack);
    }

    @Test
    public void theModelThatEndsTheAppTwiceIsTriedWithoutXnnpackAndThenNotByItself() throws IOException {
        phone.startWith(MODEL);
        Crash crash = crash();
        phone.start();
        assertTrue(Interpreter.xnnpack);
        restart(crash.left);
        assertTrue("the first end may have been the user's", Interpreter.xnnpack);
        assertNull(phone.problem());
        restart(crash.left);
        assertEquals("small-fp32.tflite", phone.inUse());
        assertFalse(Interpreter.xnnpack);
        assertFalse(phone.app.engine.state().model.xnnpack);
        assertTrue("its row says so", phone.app.shelf.plain(phone.model("small-fp32.tflite")));
        assertNull(phone.problem());
        FakePreferences endedAgain = crash.left;
        for (int start = 0; start < 2; start++) {
            restart(endedAgain.copy());
            assertNull(phone.inUse());
            assertEquals(0, Interpreter.OPENED.get());
            assertEquals("small-fp32.tflite: fault_ended", phone.problem());
        }
        phone.use("small-fp32.tflite"); // requested by the user
        assertEquals("small-fp32.tflite", phone.inUse());
        assertNull(phone.problem());
        phone.start();
        assertFalse("it stays without", Interpreter.xnnpack);
        phone.push("good.tflite", ModelBytes.changed());
        phone.look();
        assertTrue("another version of the file has a chance of its own", Interpreter.xnnpack);
    }

    @Test
    public void endsWithAGoodLoadBetweenThemAreNotOfTheFile() throws IOException {
        phone.startWith(MODEL);
        Crash crash = crash();
        phone.start();
        restart(crash.left);
        FakePreferences later = phone.preferences.copy(); // that load succeeded
        restart(later);
        restart(crash.left);
        assertTrue(Interpreter.xnnpack);
        assertFalse(phone.app.shelf.plain(phone.model("small-fp32.tflite")));
    }

    @Test
    public void anotherInstallationGivesAFileAnotherChanceWithXnnpack() throws IOException {
        phone.startWith(MODEL);
        Crash crash = crash();
        phone.start();
        restart(crash.left);
        restart(crash.left);
        assertFalse(Interpreter.xnnpack);
        phone.codePath = "/data/app/2/base.apk";
        phone.start();
        assertTrue(Interpreter.xnnpack);
    }

    @Test
    public void aFileOnWhichAnInstallationEndedTheAppIsNotBlamed() throws IOException {
        phone.startWith(MODEL);
        Crash crash = crash();
        phone.start();
        phone.codePath = "/data/app/2/base.apk";
        restart(crash.left);
        assertEquals("small-fp32.tflite", phone.inUse());
        assertTrue(Interpreter.xnnpack);
        assertNull(phone.problem());
    }

    @Test
    public void aDeletedModelIsNotBlamed() throws IOException {
        phone.startWith(MODEL);
        Crash crash = crash();
        phone.start();
        restart(crash.left);
        restart(crash.left);
        restart(crash.left);
        assertEquals("small-fp32.tflite: fault_ended", phone.problem());
        phone.app.shelf.delete(phone.model("small-fp32.tflite"));
        phone.until(() -> phone.app.shelf.models().isEmpty());
        phone.start();
        assertNull(phone.problem());
    }

    @Test
    public void aBundledModelIsThereAtTheFirstStartAndStaysDeleted() throws IOException {
        AssetManager.model = MODEL;
        phone.start();
        assertEquals("small-fp32.tflite", phone.inUse());
        phone.app.shelf.delete(phone.model("small-fp32.tflite"));
        phone.until(() -> phone.app.shelf.models().isEmpty());
        phone.start();
        assertNull(phone.inUse());
        assertNull(phone.problem());
    }

    @Test
    public void anUpdateOfTheAppBringsItsNewerModel() throws IOException {
        AssetManager.model = MODEL;
        phone.start();
        String before = phone.model(phone.inUse()).sha256();
        update("/data/app/2/base.apk", ModelBytes.changed()); // the same name, other weights
        assertEquals("small-fp32.tflite", phone.inUse());
        assertNotEquals(before, phone.model(phone.inUse()).sha256());
        update("/data/app/3/base.apk", ModelBytes.named("newer"));
        assertEquals("newer-fp32.tflite small-fp32.tflite", phone.names());
        assertEquals("newer-fp32.tflite", phone.inUse());
    }

    @Test
    public void anUpdateLeavesTheModelThatTheUserChose() throws IOException {
        AssetManager.model = MODEL;
        phone.start();
        phone.take("own.tflite", ModelBytes.named("own"));
        update("/data/app/2/base.apk", ModelBytes.named("newer"));
        assertEquals("own-fp32.tflite", phone.inUse());
        assertEquals("newer-fp32.tflite own-fp32.tflite small-fp32.tflite", phone.names());
    }

    @Test
    public void aBundledModelThatWasDeletedStaysDeletedAfterAnUpdate() throws IOException {
        AssetManager.model = MODEL;
        phone.start();
        phone.app.shelf.delete(phone.model("small-fp32.tflite"));
        phone.until(() -> phone.app.shelf.models().isEmpty());
        update("/data/app/2/base.apk", ModelBytes.named("newer"));
        assertEquals("", phone.names());
    }

    private void update(String codePath, byte[] model) {
        phone.codePath = codePath;
        AssetManager.model = model;
        phone.start();
        phone.look();
    }

    @Test
    public void aBundledModelThatCouldNotBeCopiedIsCopiedAtTheNextStart() throws IOException {
        AssetManager.model = Arrays.copyOf(MODEL, MODEL.length / 2);
        phone.start();
        phone.until(() -> phone.problem() != null);
        assertNull(phone.inUse());
        AssetManager.model = MODEL;
        phone.start();
        assertEquals("small-fp32.tflite", phone.inUse());
    }

    @Test
    public void aLoadThatFailsIsNoCrash() throws IOException {
        phone.startWith(MODEL);
        Interpreter.script = Interpreter.Script.failsToOpen(new OutOfMemoryError());
        phone.app.engine.setThreads(4);
        phone.until(() -> phone.app.engine.state().loading == null);
        assertEquals("small-fp32.tflite: fault_memory", phone.problem());
        Interpreter.script = new Interpreter.Script();
        phone.start();
        assertNull(phone.problem());
        assertEquals("small-fp32.tflite", phone.inUse());
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
