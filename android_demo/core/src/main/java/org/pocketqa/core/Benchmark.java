package org.pocketqa.core;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;

/**
 * Times a model. For each number of threads it opens the model, runs windows of the probe in each signature, and asks questions.
 *
 * If a number of threads fails or computes the probe wrongly, its error is reported and the next number is measured.
 */
public final class Benchmark {
    public static final int WARMUPS = 5;
    public static final int RUNS = 50;
    private static final int[] THREADS = {1, 2, 4};

    /** Opens the model; the caller closes it. */
    public interface Opener {
        LogitsModel open(int threads) throws IOException;
    }

    /** A question to ask, and its passage. */
    public static final class Question {
        final String passage;
        final String question;

        public Question(String passage, String question) {
            this.passage = passage;
            this.question = question;
        }
    }

    private final ModelPackage model;
    private final Opener opener;
    private final Meter meter;
    private final List<Question> questions;
    private final List<Signature> timed;
    private final Progress progress;
    private final List<Integer> threads = new ArrayList<Integer>();
    private int done;

    /** `progress` is called for every run and may stop the benchmark with a CancellationException. */
    public Benchmark(ModelPackage model, Opener opener, Meter meter, int cores, List<Question> questions, Progress progress) {
        this.model = model;
        this.opener = opener;
        this.meter = meter;
        this.questions = questions;
        this.timed = model.probe.timed(model.signatures);
        this.progress = progress;
        for (int count : THREADS) {
            if (count <= cores) {
                threads.add(count);
            }
        }
    }

    public BenchmarkReport run() {
        BenchmarkReport report = new BenchmarkReport();
        for (int i = 0; i < threads.size(); i++) {
            done = i * stepsPerThreads();
            try {
                report.add(measure(threads.get(i)));
            } catch (CancellationException stopped) {
                throw stopped;
            } catch (IOException | RuntimeException fault) {
                String message = fault.getMessage();
                report.fail(threads.get(i), message == null ? fault.getClass().getSimpleName() : message);
            }
        }
        return report;
    }

    private int stepsPerThreads() {
        return timed.size() * (WARMUPS + RUNS) + questions.size();
    }

    private void step() {
        progress.windowDone(++done, threads.size() * stepsPerThreads());
    }

    private List<BenchmarkReport.Part> measure(int count) throws IOException {
        List<BenchmarkReport.Part> parts = new ArrayList<BenchmarkReport.Part>();
        Long before = meter.memoryBytes();
        long began = meter.nanos();
        try (LogitsModel opened = opener.open(count)) {
            long loadNanos = meter.nanos() - began;
            WindowRunner runner = new WindowRunner(opened, model.signatures, model.tokenizer().padId);
            for (Signature signature : timed) {
                BenchmarkReport.Part part = new BenchmarkReport.Part(count, signature, loadNanos, meter.thermalStatus());
                runWindows(model.probe.windowsFor(signature, timed), runner, part);
                parts.add(part.ended(meter.thermalStatus(), before, meter.memoryBytes()));
            }
            model.probe.check(runner); // only now: the first call of each signature is timed
            BenchmarkReport.Part part = new BenchmarkReport.Part(count, null, loadNanos, meter.thermalStatus());
            askAll(opened, part);
            parts.add(part.ended(meter.thermalStatus(), before, meter.memoryBytes()));
        }
        return parts;
    }

    private void runWindows(List<Probe.Recorded> windows, WindowRunner runner, BenchmarkReport.Part part) {
        for (int i = 0; i < WARMUPS + RUNS; i++) {
            windows.get(i % windows.size()).prepare(runner);
            long began = meter.nanos();
            runner.run();
            (i < WARMUPS ? part.warmup : part.times).add(meter.nanos() - began);
            step();
        }
    }

    private void askAll(LogitsModel opened, BenchmarkReport.Part part) {
        for (Question asked : questions) {
            // A new answerer has no tokens of a passage yet, as at a user's first question about a text.
            part.add(new QuestionAnswerer(model, opened).ask(asked.passage, asked.question, false, (n, total) -> {}));
            step();
        }
    }
}
