package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;
import org.tensorflow.lite.Interpreter;

/** Models are loaded, refused and replaced. */
public class LoadTest {
    private static final byte[] MODEL = ModelBytes.small();

    @Rule public final Phone phone = new Phone();

    /** Each way in which a phone refuses a complete model, with the beginning of its message. */
    private static Map<String, Interpreter.Script> refusals() {
        Map<String, Interpreter.Script> refusals = new LinkedHashMap<>();
        refusals.put("runtime_missing[[test-abi]]", Interpreter.Script.failsToOpen(new UnsatisfiedLinkError("no library")));
        refusals.put("runtime_refuses[bad model]", Interpreter.Script.failsToOpen(new IllegalArgumentException("bad model")));
        refusals.put("fault_memory", Interpreter.Script.failsToOpen(new OutOfMemoryError()));
        refusals.put("runtime_fails[no kernel]", Interpreter.Script.failsToRun(new IllegalStateException("no kernel")));
        refusals.put("fault_unexpected[StackOverflowError]", Interpreter.Script.failsToRun(new StackOverflowError()));
        refusals.put(
                "This phone's runtime computes this fp32 model wrongly",
                new Interpreter.Script() {
                    @Override
                    public float logit(float recorded) {
                        return -recorded;
                    }
                });
        return refusals;
    }

    @Test
    public void aModelThatTakesAnyLengthAnswers() throws IOException {
        phone.startWith(ModelBytes.anyLength());
        phone.read("a b c d e f z");
        assertEquals("z", phone.ask("b"));
    }

    @Test
    public void aModelThatIsRefusedLeavesTheOldOneInUse() throws IOException {
        phone.startWith(MODEL);
        phone.push("new.tflite", ModelBytes.named("new"));
        phone.look();
        assertEquals("a pushed model does not replace another one", "small-fp32.tflite", phone.inUse());
        for (Map.Entry<String, Interpreter.Script> refusal : refusals().entrySet()) {
            Interpreter.script = refusal.getValue();
            phone.use("new-fp32.tflite");
            assertTrue(phone.problem(), phone.problem().startsWith("new-fp32.tflite: " + refusal.getKey()));
            assertEquals("small-fp32.tflite", phone.inUse());
            assertEquals(EngineState.Phase.READY, phone.app.engine.state().phase);
            assertEquals(1, Interpreter.open());
            Interpreter.script = new Interpreter.Script();
            phone.read("a z c");
            assertEquals("z", phone.ask("b"));
        }
        phone.start();
        assertEquals("the next start loads the old one", "small-fp32.tflite", phone.inUse());
    }

    @Test
    public void aModelOfTheSameNameThatIsRefusedLeavesTheOldFile() throws IOException {
        phone.startWith(MODEL);
        String before = phone.model("small-fp32.tflite").sha256();
        for (Map.Entry<String, Interpreter.Script> refusal : refusals().entrySet()) {
            Interpreter.script = refusal.getValue();
            phone.take("new.tflite", ModelBytes.changed());
            assertTrue(phone.problem(), phone.problem().startsWith("small-fp32.tflite: " + refusal.getKey()));
            Interpreter.script = new Interpreter.Script();
            phone.look();
            assertEquals(before, phone.model("small-fp32.tflite").sha256());
            assertTrue("its row says so", phone.app.engine.state().uses(phone.model("small-fp32.tflite")));
        }
        phone.start();
        assertEquals(before, phone.model("small-fp32.tflite").sha256());
        assertEquals("small-fp32.tflite", phone.inUse());
        assertEquals(Arrays.asList("small-fp32.tflite"), phone.privateFiles());
    }

    @Test
    public void whileAModelOfTheSameNameIsLoadedNoRowIsInUse() throws IOException {
        phone.startWith(MODEL);
        Held loading = new Held();
        Interpreter.script =
                new Interpreter.Script() {
                    @Override
                    public void opening(File file) {
                        loading.here();
                    }
                };
        phone.app.shelf.take(phone.document(ModelBytes.changed(), "new.tflite"));
        phone.until(() -> phone.app.shelf.looks == 0 && phone.app.copier.job() == null && phone.app.engine.state().loading != null);
        loading.thread();
        assertFalse(phone.app.engine.state().uses(phone.model("small-fp32.tflite")));
        loading.release();
        phone.look();
        assertTrue(phone.app.engine.state().uses(phone.model("small-fp32.tflite")));
        assertEquals(Arrays.asList("small-fp32.tflite"), phone.privateFiles());
    }

    @Test
    public void aModelOfTheSameNameAsAnUnusedOneReplacesItAtOnce() throws IOException {
        phone.startWith(MODEL);
        phone.take("other.tflite", ModelBytes.named("other"));
        phone.push("new.tflite", ModelBytes.changed());
        phone.look();
        phone.look(); // after the thread of the shelf
        assertEquals(Arrays.asList("other-fp32.tflite", "small-fp32.tflite"), phone.privateFiles());
        phone.start();
        assertEquals(123456, phone.model("small-fp32.tflite").facts.parameters);
    }

    @Test
    public void aModelThatIsRefusedLeavesNoneInUseWhereThereWasNone() throws IOException {
        phone.push("new.tflite", MODEL);
        for (Map.Entry<String, Interpreter.Script> refusal : refusals().entrySet()) {
            Interpreter.script = refusal.getValue();
            phone.start();
            assertTrue(phone.problem(), phone.problem().startsWith("small-fp32.tflite: " + refusal.getKey()));
            assertEquals(EngineState.Phase.NO_MODEL, phone.app.engine.state().phase);
            assertEquals(0, Interpreter.open());
        }
    }

    @Test
    public void aRealModelsRecordedProbePasses() throws IOException {
        phone.startWith(ModelBytes.golden());
        assertEquals("teacher", phone.app.engine.state().model.facts.name);
        assertEquals(0, phone.app.engine.state().model.probeDifference, 0);
    }

    @Test
    public void anotherModelReplacesTheOneInUse() throws IOException {
        phone.startWith(MODEL);
        phone.push("new.tflite", ModelBytes.named("another"));
        phone.look();
        phone.app.shelf.use(phone.model("another-fp32.tflite"));
        EngineState during = phone.app.engine.state();
        assertEquals(EngineState.Phase.LOADING, during.phase);
        assertEquals("another-fp32.tflite", during.loading);
        assertEquals("small", during.model.facts.name);
        assertTrue("no question meanwhile", !phone.app.workspace.ask("b"));
        phone.until(() -> phone.app.engine.state().loading == null);
        assertEquals("another", phone.app.engine.state().model.facts.name);
        assertEquals(1, Interpreter.open());
    }

    @Test
    public void otherThreadsLoadTheModelAgain() throws IOException {
        phone.startWith(MODEL);
        phone.app.engine.setThreads(4);
        phone.until(() -> phone.app.engine.state().loading == null);
        assertEquals(4, Interpreter.threads);
        assertEquals(4, phone.app.engine.threads());
        assertEquals(2, Interpreter.OPENED.get());
        phone.app.engine.setThreads(4);
        assertNull("as before: nothing to do", phone.app.engine.state().loading);
        phone.start();
        assertEquals("the next start has them too", 4, Interpreter.threads);
    }

    @Test
    public void otherThreadsThatFailAreNotKept() throws IOException {
        phone.startWith(MODEL);
        int before = phone.app.engine.threads();
        assertTrue(phone.privateFile("models/small-fp32.tflite").delete());
        phone.app.engine.setThreads(4);
        phone.until(() -> phone.app.engine.state().loading == null);
        assertEquals("small-fp32.tflite: fault_gone", phone.problem());
        assertEquals(before, phone.app.engine.threads());
        phone.read("a z c");
        assertEquals("z", phone.ask("b"));
    }

    @Test
    public void withoutAModelThreadsAreForTheNext() throws IOException {
        phone.start();
        phone.app.engine.setThreads(1);
        assertNull(phone.app.engine.state().loading);
        phone.take("new.tflite", MODEL);
        assertEquals(1, Interpreter.threads);
    }

    @Test
    public void aProblemStandsUntilAnotherFileIsTried() throws IOException {
        phone.startWith(MODEL);
        phone.app.engine.report(new LoadProblem("x", "sentence"));
        phone.look();
        assertEquals("x: sentence", phone.problem());
        phone.use("small-fp32.tflite");
        assertNull(phone.problem());
    }

    @Test
    public void aListenerThatLeftIsNotCalled() throws IOException {
        phone.startWith(MODEL);
        int[] heard = new int[2];
        Listeners.Listener stays = () -> heard[0]++;
        Listeners.Listener leaves = () -> heard[1]++;
        Listeners listeners = phone.app.engine.listeners;
        listeners.add(leaves);
        listeners.add(stays);
        phone.app.engine.report(new LoadProblem("x", "sentence"));
        listeners.remove(leaves);
        phone.app.engine.report(null);
        assertEquals(2, heard[0]);
        assertEquals(1, heard[1]);
    }

    @Test
    public void aListenerMayLeaveWhileAllAreTold() {
        Listeners listeners = new Listeners();
        int[] heard = new int[1];
        listeners.add(
                new Listeners.Listener() {
                    @Override
                    public void changed() {
                        listeners.remove(this);
                    }
                });
        listeners.add(() -> heard[0]++);
        phone.start();
        listeners.changed();
        listeners.changed();
        assertEquals(2, heard[0]);
    }
}
