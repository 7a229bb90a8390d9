package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.pocketqa.core.Benchmark;
import org.pocketqa.core.Json;
import org.pocketqa.core.ModelBytes;
import org.tensorflow.lite.Interpreter;

/** The benchmark in the app: start, cancel, share. */
public class BenchmarksTest {
    @Rule public final Phone phone = new Phone();

    private Benchmarks benchmarks;

    @Before
    public void start() throws IOException {
        phone.startWith(ModelBytes.small());
        benchmarks = phone.app.benchmarks;
    }

    private void untilDone() {
        phone.until(() -> benchmarks.job() == null);
    }

    @Test
    public void itsFiguresAreSharedWithTheModelAndThePhone() throws IOException {
        assertTrue(benchmarks.start());
        assertFalse("one at a time", benchmarks.start());
        assertEquals(EngineState.Phase.WORKING, phone.app.engine.state().phase);
        untilDone();
        Map<String, Object> name = Collections.singletonMap("name", "Pixel");
        Map<?, ?> json = (Map<?, ?>) Json.parse(benchmarks.measured().json("1.0", "1.4.2", name));
        assertEquals("pocketqa benchmark", json.get("format"));
        assertEquals(name, json.get("phone"));
        assertEquals(phone.model(phone.inUse()).sha256(), ((Map<?, ?>) json.get("model")).get("sha256"));
        assertEquals(true, ((Map<?, ?>) json.get("runtime")).get("xnnpack"));
        Map<?, ?> window = (Map<?, ?>) ((List<?>) json.get("windows")).get(0);
        assertEquals(Benchmark.RUNS, ((List<?>) window.get("times_ns")).size());
        assertTrue((Double) window.get("memory_bytes_after") > 1e6);
        assertNull("an old phone does not tell", window.get("thermal_after"));
        assertEquals("the model in use is there as before", "c", asked("a b c"));
        assertEquals(1, Interpreter.open());
    }

    private String asked(String passage) {
        phone.read(passage);
        return phone.ask("b");
    }

    @Test
    public void aCancelLeavesNothing() {
        assertTrue(benchmarks.start());
        phone.until(() -> benchmarks.job().windowsDone() > 3);
        phone.app.engine.cancel();
        untilDone();
        assertNull(benchmarks.measured());
        assertNull(benchmarks.notice());
        assertTrue(benchmarks.canStart());
    }

    @Test
    public void aTextThatArrivesMeanwhileStopsNothing() {
        Held held = new Held();
        Interpreter.script =
                new Interpreter.Script() {
                    @Override
                    public void running(Interpreter interpreter) {
                        held.here();
                    }
                };
        assertTrue(benchmarks.start());
        held.thread();
        phone.read("a b c");
        held.release();
        untilDone();
        assertNotNull(benchmarks.measured());
    }

    @Test
    public void theEnginesListenersSeeItsStartAndItsEnd() {
        StringBuilder seen = new StringBuilder();
        phone.app.engine.listeners.add(
                () -> seen.append(benchmarks.job() != null ? "running " : benchmarks.measured() != null ? "done " : "neither "));
        assertTrue(benchmarks.start());
        assertTrue(seen.toString(), seen.toString().endsWith("running "));
        untilDone();
        assertTrue(seen.toString(), seen.toString().endsWith("done "));
    }

    @Test
    public void aNumberOfThreadsThatFailsIsSaidSo() {
        Interpreter.script = Interpreter.Script.failsToRun(new IllegalArgumentException("no kernel"));
        assertTrue(benchmarks.start());
        untilDone();
        assertNotNull(benchmarks.measured());
        String text = BenchmarkText.of(phone.app.getResources(), benchmarks.measured());
        assertTrue(text, text.startsWith(ModelText.name(phone.model("small-fp32.tflite")) + "\nbenchmark_failed[1, no kernel]"));
        Interpreter.script = new Interpreter.Script();
    }

    @Test
    public void withoutAModelThereIsNothingToTime() {
        assertTrue(phone.privateFile("models/small-fp32.tflite").delete());
        phone.start();
        assertFalse(phone.app.benchmarks.start());
    }
}
