package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.widget.Toast;
import java.io.File;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;
import org.pocketqa.core.StoredModel;
import org.tensorflow.lite.Interpreter;

/** The list of models: deleting, and files that are replaced from outside. */
public class ShelfTest {
    private static final byte[] MODEL = ModelBytes.small();

    @Rule public final Phone phone = new Phone();

    private void delete(String name) {
        phone.app.shelf.delete(phone.model(name));
        phone.until(() -> !phone.names().contains(name));
    }

    @Test
    public void theModelInUseIsDeletedAndForgotten() throws IOException {
        phone.startWith(MODEL);
        phone.copy("copy.tflite", MODEL);
        phone.look();
        delete("copy.tflite");
        phone.until(() -> Interpreter.OPEN.get() == 0);
        assertEquals(EngineState.Phase.NO_MODEL, phone.app.engine.state().phase);
        phone.look();
        assertNull("no other is chosen for the user", phone.inUse());
        assertFalse(phone.app.workspace.ask("b"));
        assertEquals(Collections.emptyList(), phone.privateFiles());
        phone.start();
        assertNull(phone.problem());
    }

    @Test
    public void deletingTheModelInUseEndsItsQuestion() throws IOException {
        phone.start();
        phone.copy("copy.tflite", MODEL);
        phone.look();
        Interpreter.script =
                new Interpreter.Script() {
                    @Override
                    public void running(Interpreter interpreter) {
                        interpreter.untilCancelled();
                    }
                };
        assertTrue(phone.app.workspace.ask("b"));
        delete("copy.tflite");
        phone.until(() -> phone.app.engine.state().job == null && Interpreter.OPEN.get() == 0);
        assertNull(phone.app.workspace.result());
        assertNull(phone.app.workspace.notice());
    }

    @Test
    public void anotherModelIsDeletedAndTheOneInUseStays() throws IOException {
        phone.startWith(MODEL);
        phone.copy("copy.tflite", MODEL);
        phone.look();
        phone.use("good.tflite");
        delete("copy.tflite");
        assertEquals("good.tflite", phone.inUse());
        phone.start();
        assertEquals("good.tflite", phone.inUse());
        assertNull(phone.problem());
    }

    @Test
    public void aChosenModelThatIsNotInUseIsForgotten() throws IOException {
        phone.start();
        phone.copy("copy.tflite", MODEL);
        phone.push("other.tflite", MODEL);
        Interpreter.script =
                new Interpreter.Script() {
                    @Override
                    public void opening(File file) {
                        throw new IllegalArgumentException("not on this phone any more");
                    }
                };
        phone.start();
        assertNull(phone.inUse());
        phone.look();
        delete("copy.tflite");
        Interpreter.script = new Interpreter.Script();
        phone.push("third.tflite", MODEL);
        phone.start();
        assertNull("the next start does not miss it", phone.problem());
    }

    @Test
    public void aPushedModelIsNotDeleted() throws IOException {
        phone.startWith(MODEL);
        phone.app.shelf.delete(phone.model("good.tflite"));
        phone.until(() -> Toast.shown != null);
        assertTrue(Toast.shown, Toast.shown.contains("good.tflite was not copied by this app"));
        phone.look();
        assertEquals("good.tflite", phone.names());
        assertEquals("good.tflite", phone.inUse());
    }

    @Test
    public void aModelPushedAgainReplacesTheOneInUse() throws IOException {
        phone.startWith(MODEL);
        phone.push("good.tflite", ModelBytes.named("second"));
        phone.look();
        phone.until(() -> phone.app.engine.state().loading == null);
        phone.look();
        assertEquals("second", phone.app.engine.state().model.name);
        assertEquals("loaded once each", 2, Interpreter.OPENED.get());
    }

    @Test
    public void aModelPushedAgainBrokenLeavesTheOldOneInUseAndIsTriedOnce() throws IOException {
        phone.startWith(MODEL);
        phone.push("good.tflite", new byte[100]);
        phone.look();
        phone.until(() -> phone.app.engine.state().loading == null);
        assertTrue(phone.problem(), phone.problem().startsWith("good.tflite: This is not a TFLite model."));
        assertEquals("small", phone.app.engine.state().model.name);
        phone.app.engine.dismissProblem();
        phone.look();
        assertNull(phone.problem());
        phone.read("a z c");
        assertEquals("z", phone.ask("b"));
    }

    @Test
    public void aModelPushedAgainIsAnotherRowAndATapLoadsItOnce() throws IOException {
        phone.startWith(MODEL);
        phone.push("other.tflite", MODEL);
        phone.look();
        List<StoredModel> shown = phone.app.shelf.models();
        phone.look();
        assertTrue("nothing new", ModelShelf.same(shown, phone.app.shelf.models()));
        phone.push("other.tflite", ModelBytes.named("second"));
        phone.look();
        assertFalse(ModelShelf.same(shown, phone.app.shelf.models()));
        phone.use("other.tflite");
        phone.look();
        assertEquals(EngineState.Phase.READY, phone.app.engine.state().phase);
        assertEquals("second", phone.app.engine.state().model.name);
        assertEquals(2, Interpreter.OPENED.get());
    }

    @Test
    public void rowsAreAsManyAsFiles() throws IOException {
        phone.startWith(MODEL);
        List<StoredModel> one = phone.app.shelf.models();
        assertFalse(ModelShelf.same(one, Collections.<StoredModel>emptyList()));
        assertFalse(ModelShelf.same(Collections.<StoredModel>emptyList(), one));
    }

    @Test
    public void theHashIsThatOfTheVersionListed() throws IOException {
        phone.startWith(MODEL);
        StoredModel first = phone.model("good.tflite");
        String hash = hash(first);
        assertEquals("sha256[" + first.sha256() + "]", hash);
        phone.push("good.tflite", ModelBytes.named("second"));
        assertEquals("not worked out anew before it is listed", hash, phone.app.hashes.line(first));
        phone.look();
        phone.until(() -> phone.app.engine.state().loading == null);
        StoredModel second = phone.model("good.tflite");
        assertEquals("sha256_computing", phone.app.hashes.line(second));
        assertEquals("sha256[" + second.sha256() + "]", hash(second));
        phone.remove("good.tflite");
        phone.push("third.tflite", MODEL);
        phone.look();
        StoredModel third = phone.model("third.tflite");
        phone.remove("third.tflite");
        assertEquals("sha256_failed", hash(third));
    }

    private String hash(StoredModel model) {
        phone.app.hashes.line(model);
        phone.until(() -> !phone.app.hashes.line(model).equals("sha256_computing"));
        return phone.app.hashes.line(model);
    }
}
