package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.os.Looper;
import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;
import org.pocketqa.core.StoredModel;
import org.tensorflow.lite.Interpreter;

/** Models on the phone: pushed models are imported once; models are deleted. */
public class ShelfTest {
    private static final byte[] MODEL = ModelBytes.small();

    @Rule public final Phone phone = new Phone();

    private void delete(String name) {
        phone.app.shelf.delete(phone.model(name));
        phone.until(() -> !phone.names().contains(name));
    }

    @Test
    public void aPushedModelIsTakenInOnceUnderItsOwnName() throws IOException {
        phone.startWith(MODEL);
        assertEquals("small-fp32.tflite", phone.names());
        assertEquals(Collections.emptyList(), phone.inbox());
        assertEquals(Arrays.asList("small-fp32.tflite"), phone.privateFiles());
        phone.start();
        assertEquals("small-fp32.tflite", phone.inUse());
        assertEquals("loaded, not copied again", 1, Interpreter.OPENED.get());
        assertEquals("small", phone.model("small-fp32.tflite").facts.name);
        assertEquals("fp32", phone.model("small-fp32.tflite").facts.precision);
        assertEquals(1234, phone.model("small-fp32.tflite").facts.parameters);
    }

    @Test
    public void aFilePushedWhileAScreenIsOpenIsSeen() throws IOException {
        phone.start();
        phone.app.shelf.watch();
        phone.push("new.tflite", MODEL);
        Looper.DELAYED.remove().run();
        phone.until(() -> phone.app.engine.state().model != null);
        phone.app.shelf.unwatch();
        Looper.DELAYED.remove().run();
        assertTrue("nobody watches: nothing more is planned", Looper.DELAYED.isEmpty());
    }

    @Test
    public void aTurnedScreenLeavesOneRoundOfLooking() throws IOException {
        phone.start();
        for (int turn = 0; turn < 3; turn++) {
            phone.app.shelf.watch();
            phone.app.shelf.unwatch();
        }
        phone.app.shelf.watch();
        for (int planned = Looper.DELAYED.size(); planned > 0; planned--) {
            Looper.DELAYED.remove().run();
        }
        assertEquals(1, Looper.DELAYED.size());
    }

    @Test
    public void aRefusedPushedFileIsTriedOnceAndAnotherVersionOfItToo() throws IOException {
        phone.startWith(MODEL);
        phone.push("bad.tflite", Arrays.copyOf(ModelBytes.named("other"), 100));
        phone.look();
        phone.until(() -> phone.problem() != null);
        for (int start = 0; start < 2; start++) {
            phone.start();
            phone.look();
            assertNull(phone.problem());
        }
        phone.push("bad.tflite", ModelBytes.named("other"));
        phone.look();
        phone.until(() -> phone.names().contains("other-fp32.tflite"));
    }

    @Test
    public void aDeletedModelIsTakenInAgainWhenTheSameFileIsPushedAgain() throws IOException {
        phone.startWith(MODEL);
        for (int time = 0; time < 2; time++) {
            File pushed = phone.push("new.tflite", ModelBytes.named("other"));
            assertTrue(pushed.setLastModified(1700000000000L));
            phone.look();
            phone.until(() -> phone.names().contains("other-fp32.tflite"));
            delete("other-fp32.tflite");
        }
    }

    @Test
    public void aFileThatIsStillBeingWrittenIsLeftAlone() throws IOException {
        phone.start();
        File pushed = phone.push("new.tflite", Arrays.copyOf(MODEL, 100));
        long now = System.currentTimeMillis() + 3600000;
        assertTrue(pushed.setLastModified(now));
        phone.look();
        pushed = phone.push("new.tflite", MODEL);
        assertTrue(pushed.setLastModified(now));
        phone.look();
        assertNull("another size: it grows", phone.inUse());
        assertNull(phone.problem());
        phone.look();
        assertEquals("small-fp32.tflite", phone.inUse());
    }

    @Test
    public void aPushedFileThatIsNoModelIsNamedOnceAndTheOldOneStays() throws IOException {
        phone.startWith(MODEL);
        phone.push("new.tflite", new byte[100]);
        phone.look();
        assertTrue(phone.problem(), phone.problem().startsWith("new.tflite: This is not a TFLite model."));
        assertEquals("small-fp32.tflite", phone.inUse());
        phone.app.engine.report(null);
        phone.look();
        assertNull(phone.problem());
        phone.push("new.tflite", ModelBytes.named("better"));
        phone.look();
        assertEquals("better-fp32.tflite small-fp32.tflite", phone.names());
    }

    @Test
    public void aModelPushedAgainReplacesTheOneInUse() throws IOException {
        phone.startWith(MODEL);
        List<StoredModel> shown = phone.app.shelf.models();
        phone.look();
        assertEquals("nothing new", shown, phone.app.shelf.models());
        phone.push("good.tflite", ModelBytes.changed());
        phone.look();
        assertNotEquals(shown, phone.app.shelf.models());
        assertEquals("small-fp32.tflite", phone.names());
        assertEquals(123456, phone.app.engine.state().model.facts.parameters);
        assertEquals("loaded once each", 2, Interpreter.OPENED.get());
    }

    @Test
    public void aModelThatIsWantedIsUsedWhetherItIsHereOrArrivesLater() throws IOException {
        phone.startWith(MODEL);
        phone.app.shelf.want("other-fp32.tflite");
        phone.look();
        assertEquals("small-fp32.tflite", phone.inUse());
        phone.push("x.tflite", ModelBytes.named("other"));
        phone.look();
        assertEquals("other-fp32.tflite", phone.inUse());
        phone.app.shelf.want("small-fp32.tflite");
        phone.look();
        assertEquals("small-fp32.tflite", phone.inUse());
        phone.app.shelf.want("small-fp32.tflite");
        phone.look();
        assertEquals("in use already", 3, Interpreter.OPENED.get());
    }

    @Test
    public void aModelThatIsWantedIsUsedAfterAnotherThatArrivedFirst() throws IOException {
        phone.start();
        phone.app.shelf.want("other-fp32.tflite");
        phone.push("first.tflite", ModelBytes.named("first"));
        phone.look();
        assertEquals("first-fp32.tflite", phone.inUse());
        phone.push("x.tflite", ModelBytes.named("other"));
        phone.look();
        assertEquals("other-fp32.tflite", phone.inUse());
    }

    @Test
    public void aWantedModelThatDoesNotLoadIsUsedWhenItIsPushedAgain() throws IOException {
        phone.startWith(MODEL);
        phone.take("other.tflite", ModelBytes.named("other"));
        phone.use("small-fp32.tflite");
        Interpreter.script = Interpreter.Script.failsToOpen(new IllegalArgumentException("damaged"));
        phone.app.shelf.want("other-fp32.tflite");
        phone.look();
        assertEquals("small-fp32.tflite", phone.inUse());
        Interpreter.script = new Interpreter.Script();
        phone.push("other.tflite", ModelBytes.named("other"));
        phone.look();
        assertEquals("other-fp32.tflite", phone.inUse());
    }

    @Test
    public void theModelInUseIsDeletedAndForgotten() throws IOException {
        phone.startWith(MODEL);
        phone.take("copy.tflite", ModelBytes.named("copy"));
        delete("copy-fp32.tflite");
        phone.until(() -> Interpreter.open() == 0);
        assertEquals(EngineState.Phase.NO_MODEL, phone.app.engine.state().phase);
        phone.look();
        assertNull("no other is chosen for the user", phone.inUse());
        assertFalse(phone.app.workspace.ask("b"));
        phone.start();
        assertNull(phone.problem());
    }

    @Test
    public void deletingTheModelInUseEndsItsQuestion() throws IOException {
        phone.startWith(MODEL);
        Interpreter.script =
                new Interpreter.Script() {
                    @Override
                    public void running(Interpreter interpreter) {
                        interpreter.untilCancelled();
                    }
                };
        assertTrue(phone.app.workspace.ask("b"));
        delete("small-fp32.tflite");
        phone.until(() -> phone.app.engine.state().job == null && Interpreter.open() == 0);
        assertNull(phone.app.workspace.result());
        assertNull(phone.app.workspace.notice());
    }

    @Test
    public void anotherModelIsDeletedAndTheOneInUseStays() throws IOException {
        phone.startWith(MODEL);
        phone.take("copy.tflite", ModelBytes.named("copy"));
        phone.use("small-fp32.tflite");
        delete("copy-fp32.tflite");
        assertEquals("small-fp32.tflite", phone.inUse());
        phone.start();
        assertEquals("small-fp32.tflite", phone.inUse());
        assertNull(phone.problem());
    }
}
