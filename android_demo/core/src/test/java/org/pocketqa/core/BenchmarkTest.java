package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Runs of a benchmark, their order and their times, with a fake clock. */
public class BenchmarkTest {
    private static final long MS = 1000000;

    @Rule public final TemporaryFolder folder = new TemporaryFolder();

    private final List<String> calls = new ArrayList<>();
    private long now;
    private int thermal;

    private final Meter meter =
            new Meter() {
                @Override
                public long nanos() {
                    return now;
                }

                @Override
                public Integer thermalStatus() {
                    return thermal++;
                }

                @Override
                public Long memoryBytes() {
                    return calls.isEmpty() ? 100L : 300L;
                }
            };

    /** Replays the probe; every call takes a millisecond longer than the one before, the first 1 ms. */
    private LogitsModel open(ModelPackage model, int threads) {
        now += 40 * MS;
        calls.add("open " + threads);
        long[] taken = {0};
        return new LogitsModel() {
            @Override
            public void run(Signature signature, int[] ids, int[] mask, int[] types, float[] starts, float[] ends) {
                calls.add(signature.name);
                now += ++taken[0] * MS;
                for (Probe.Recorded window : model.probe.windowsFor(signature, model.signatures)) {
                    int n = window.startLogits.length;
                    if (Arrays.equals(window.inputIds, Arrays.copyOf(ids, n))) {
                        System.arraycopy(window.startLogits, 0, starts, 0, n);
                        System.arraycopy(window.endLogits, 0, ends, 0, n);
                    }
                }
            }

            @Override
            public void close() {
                calls.add("close");
            }
        };
    }

    private ModelPackage model() throws IOException {
        return ModelPackage.read(ModelFiles.small().write(folder.newFile()));
    }

    private Benchmark benchmark(ModelPackage model, Benchmark.Opener opener, int cores, Progress progress) {
        List<Benchmark.Question> questions = Collections.singletonList(new Benchmark.Question("a b c", "b?"));
        return new Benchmark(model, opener, meter, cores, questions, progress);
    }

    @Test
    public void everySignatureRunsWithEachNumberOfThreads() throws IOException {
        ModelPackage model = model();
        List<String> progress = new ArrayList<>();
        BenchmarkReport report =
                benchmark(model, threads -> open(model, threads), 2, (done, total) -> progress.add(done + "/" + total)).run();
        int signatures = model.signatures.size();
        assertEquals(2 * signatures, report.windows().size());
        assertEquals(2, report.questions().size());
        int steps = 2 * (55 * signatures + 1);
        assertEquals(steps, progress.size());
        assertEquals(steps + "/" + steps, progress.get(steps - 1));
        assertEquals(Arrays.asList("open 1", "open 2"), Arrays.asList(calls.get(0), calls.get(calls.indexOf("close") + 1)));
        assertEquals(Collections.emptyMap(), report.failures());
    }

    @Test
    public void aModelThatTakesAnyLengthIsTimedAtEachLengthOfAWindow() throws IOException {
        ModelPackage model = ModelPackage.read(ModelFiles.anyLength().write(folder.newFile()));
        BenchmarkReport report = benchmark(model, threads -> open(model, threads), 1, (done, total) -> {}).run();
        List<Integer> lengths = new ArrayList<>();
        report.windows().forEach(part -> lengths.add(part.signature.length));
        assertEquals(Arrays.asList(5, 10, 16), lengths);
        assertEquals(Collections.emptyMap(), report.failures());
    }

    @Test
    public void figuresAreThoseOfTheTimedRuns() throws IOException {
        ModelPackage model = model();
        BenchmarkReport report = benchmark(model, threads -> open(model, threads), 1, (done, total) -> {}).run();
        BenchmarkReport.Part part = report.windows().get(0);
        assertEquals(model.signatures.get(0), part.signature);
        assertEquals(40, part.loadMs, 0);
        assertEquals(5, part.warmup.count()); // 1 to 5 ms
        assertEquals(1, part.warmup.firstMs(), 0);
        assertEquals(50, part.times.count()); // 6 to 55 ms
        assertEquals(30.5, part.times.meanMs(), 1e-9);
        assertEquals(30, part.times.percentileMs(50), 0); // the 25th of 50
        assertEquals(53, part.times.percentileMs(95), 0); // the 48th: the smallest that at least 95 % do not exceed
    }

    @Test
    public void theJsonHasEveryRunAndTheConditions() throws IOException {
        ModelPackage model = model();
        BenchmarkReport report = benchmark(model, threads -> open(model, threads), 1, (done, total) -> {}).run();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("app", "1 \"quoted\" \u00e9\n");
        Map<?, ?> json = (Map<?, ?>) Json.parse(report.json(facts));
        assertEquals("1 \"quoted\" \u00e9\n", json.get("app"));
        assertEquals(1.0, json.get("version"));
        Map<?, ?> window = (Map<?, ?>) ((List<?>) json.get("windows")).get(0);
        assertEquals(1.0 * MS, ((List<?>) window.get("warmup_ns")).get(0));
        assertEquals(50, ((List<?>) window.get("times_ns")).size());
        assertEquals(Arrays.asList(0.0, 1.0), Arrays.asList(window.get("thermal_before"), window.get("thermal_after")));
        assertEquals(Arrays.asList(100.0, 300.0), Arrays.asList(window.get("memory_bytes_before_load"), window.get("memory_bytes_after")));
        Map<?, ?> asked = (Map<?, ?>) ((List<?>) json.get("questions")).get(0);
        for (String times : Arrays.asList("times_ns", "tokenize_ns", "inference_ns", "decode_ns")) {
            assertEquals(times, 1, ((List<?>) asked.get(times)).size());
        }
    }

    @Test
    public void aNumberOfThreadsThatFailsHasAnErrorAndNoFigures() throws IOException {
        ModelPackage model = model();
        Benchmark.Opener opener =
                threads -> {
                    if (threads == 2) {
                        throw new ModelFileException("no such kernel");
                    }
                    return open(model, threads);
                };
        BenchmarkReport report = benchmark(model, opener, 4, (done, total) -> {}).run();
        assertEquals(Collections.singletonMap(2, "no such kernel"), report.failures());
        assertEquals(2, report.questions().size());
    }

    @Test
    public void wrongLogitsHaveNoTimes() throws IOException {
        ModelPackage model = model();
        Benchmark.Opener wrong = threads -> (signature, ids, mask, types, starts, ends) -> starts[0] = 100;
        BenchmarkReport report = benchmark(model, wrong, 1, (done, total) -> {}).run();
        assertTrue(report.failures().get(1), report.failures().get(1).contains("wrongly"));
        assertEquals(0, report.windows().size());
    }

    @Test
    public void aCancelEndsItAndClosesTheModel() throws IOException {
        ModelPackage model = model();
        Progress stop =
                (done, total) -> {
                    throw new CancellationException();
                };
        assertThrows(CancellationException.class, () -> benchmark(model, threads -> open(model, threads), 1, stop).run());
        assertEquals("close", calls.get(calls.size() - 1));
    }
}
