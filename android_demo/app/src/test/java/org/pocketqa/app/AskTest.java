package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import android.util.Log;
import java.io.IOException;
import java.util.Collections;
import java.util.concurrent.CancellationException;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.ModelBytes;
import org.tensorflow.lite.Interpreter;

/** Questions that are answered, cancelled, replaced by another text, or fail. The fake model prefers late letters. */
public class AskTest {
    private static final String LONG = "a b c d e f g h i j k l m n o p q r s t u v w x y z"; // several windows

    @Rule public final Phone phone = new Phone();

    private Engine engine;
    private Workspace workspace;

    /** Holds the first window until the test says so, or until it is cancelled. */
    private static final class HeldRun extends Interpreter.Script {
        private final Held held = new Held();
        private final boolean heedsCancel;

        private HeldRun(boolean heedsCancel) {
            this.heedsCancel = heedsCancel;
        }

        @Override
        public void running(Interpreter interpreter) {
            if (heedsCancel) {
                held.release();
                held.here();
                interpreter.untilCancelled();
            } else {
                held.here();
            }
        }

        @Override
        public boolean heedsCancel() {
            return heedsCancel;
        }
    }

    @Before
    public void start() throws IOException {
        phone.startWith(ModelBytes.small());
        engine = phone.app.engine;
        workspace = phone.app.workspace;
        phone.read(LONG);
    }

    private void untilReady() {
        phone.until(() -> engine.state().phase == EngineState.Phase.READY);
    }

    @Test
    public void anAnswerIsShownOnce() {
        assertEquals("z", phone.ask("b"));
        assertEquals("b", workspace.result().question);
        assertSame(workspace.passage(), workspace.result().passage);
        assertTrue(workspace.result().answers.windows > 2);
        assertTrue(workspace.takeUnseen());
        assertFalse(workspace.takeUnseen());
        workspace.show(1);
        assertTrue(workspace.takeUnseen());
    }

    @Test
    public void oneQuestionAtATime() {
        assertTrue(workspace.ask("b"));
        assertEquals(EngineState.Phase.WORKING, engine.state().phase);
        assertFalse(workspace.ask("c"));
        untilReady();
        assertEquals("b", workspace.result().question);
    }

    @Test
    public void progressIsReported() {
        int[] most = new int[2];
        engine.listeners.add(
                () -> {
                    AskJob job = engine.state().job;
                    if (job != null) {
                        most[0] = Math.max(most[0], job.windowsDone());
                        most[1] = job.windows();
                    }
                });
        phone.ask("b");
        assertTrue(most[1] > 2);
        assertTrue(most[0] > 0 && most[0] <= most[1]);
    }

    @Test
    public void aCancelReachesTheModelInTheMiddleOfAWindow() {
        HeldRun run = new HeldRun(true);
        Interpreter.script = run;
        assertTrue(workspace.ask("b"));
        run.held.thread();
        engine.cancel();
        assertEquals(EngineState.Phase.WORKING, engine.state().phase);
        assertTrue(engine.state().job.isCancelled());
        assertFalse("not before the model lets go", workspace.ask("c"));
        untilReady();
        assertCancelledQuietly();
        assertEquals("z", phone.ask("b"));
    }

    @Test
    public void whereTheModelDoesNotHearTheNextWindowIsNotComputed() {
        HeldRun run = new HeldRun(false);
        Interpreter.script = run;
        assertTrue(workspace.ask("b"));
        run.held.thread();
        engine.cancel();
        run.held.release();
        untilReady();
        assertCancelledQuietly();
    }

    @Test
    public void aCancelIsHeardWheneverItComes() {
        for (int windows = 0; windows < 4; windows++) {
            int after = windows;
            assertTrue(workspace.ask("b"));
            phone.until(() -> engine.state().job.windowsDone() >= after);
            engine.cancel();
            untilReady();
            assertCancelledQuietly();
        }
    }

    private void assertCancelledQuietly() {
        assertNull(workspace.result());
        assertNull(workspace.notice());
        assertEquals("nothing to log", Collections.emptyList(), Log.LOGGED);
        Interpreter.script = new Interpreter.Script();
    }

    @Test
    public void aTextThatIsBeingSplitIsNoProgressButHearsACancel() {
        // Only what the job itself reports is counted: the loading of the model may still post its own tasks.
        int[] reports = new int[1];
        AskJob job = new AskJob(() -> reports[0]++);
        job.windowDone(0, 0);
        assertEquals(0, job.windows());
        phone.runPosted();
        assertEquals(0, reports[0]);
        job.windowDone(0, 3);
        job.windowDone(1, 3);
        assertEquals(3, job.windows());
        phone.runPosted();
        assertEquals("several quick steps are one report", 1, reports[0]);
        job.cancel();
        assertThrows(CancellationException.class, () -> job.windowDone(0, 0));
    }

    @Test
    public void anotherTextEndsTheQuestionAboutTheOldOne() {
        HeldRun run = new HeldRun(false);
        Interpreter.script = run;
        assertTrue(workspace.ask("b"));
        run.held.thread();
        phone.read("a b c");
        assertTrue(engine.state().job.isCancelled());
        run.held.release();
        untilReady();
        assertCancelledQuietly();
        assertEquals("a b c", workspace.passage().text);
        assertEquals("c", phone.ask("b"));
    }

    @Test
    public void anotherTextDropsTheAnswer() {
        phone.ask("b");
        phone.read("a b c");
        assertNull(workspace.result());
        assertEquals(Workspace.NONE, workspace.shown());
    }

    @Test
    public void aNewModelEndsTheQuestion() {
        HeldRun run = new HeldRun(true);
        Interpreter.script = run;
        assertTrue(workspace.ask("b"));
        run.held.thread();
        Interpreter.script = new Interpreter.Script();
        engine.setThreads(4);
        assertEquals(EngineState.Phase.LOADING, engine.state().phase);
        untilReady();
        assertCancelledQuietly();
        assertEquals(4, engine.threads());
        assertEquals("z", phone.ask("b"));
    }

    @Test
    public void aFailedQuestionBecomesASentence() {
        Interpreter.script = Interpreter.Script.failsToRun(new IllegalArgumentException("no kernel"));
        assertEquals("[fault_unexpected[no kernel]]", phone.ask("b"));
        Interpreter.script = Interpreter.Script.failsToRun(new OutOfMemoryError("huge"));
        assertEquals("[fault_memory]", phone.ask("b"));
        Interpreter.script =
                new Interpreter.Script() {
                    @Override
                    public float logit(float recorded) {
                        return Float.NaN;
                    }
                };
        String said = phone.ask("b");
        assertTrue(said, said.contains("The model computed") && !said.contains("fault_unexpected"));
        assertEquals(3, Log.LOGGED.size());
        Interpreter.script = new Interpreter.Script();
        assertEquals("z", phone.ask("b"));
        assertNull(workspace.notice());
    }

    @Test
    public void withoutAModelThereIsNoQuestion() throws IOException {
        assertTrue(phone.privateFile("models/small-fp32.tflite").delete());
        phone.start();
        assertNotNull(phone.app.workspace.passage());
        assertFalse(phone.app.workspace.ask("b"));
    }
}
