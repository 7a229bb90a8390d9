package org.pocketqa.app;

import android.content.Context;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.pocketqa.core.Benchmark;
import org.pocketqa.core.BenchmarkReport;
import org.pocketqa.core.Meter;

/** Times the model in use and keeps the result. Outlives the screen. Main thread only. */
final class Benchmarks {
    /** Result of a benchmark, with its model. */
    static final class Measured {
        final BenchmarkReport report;
        final ModelInfo model;
        private final String sha256;
        private final long began;

        private Measured(BenchmarkReport report, ModelInfo model, String sha256, long began) {
            this.report = report;
            this.model = model;
            this.sha256 = sha256;
            this.began = began;
        }

        /** Returns the report as JSON, with the versions of the app and of its LiteRT. */
        String json(String app, String litert, Map<String, Object> phone) {
            Map<String, Object> runtime = new LinkedHashMap<String, Object>();
            runtime.put("package", "LiteRT");
            runtime.put("version", litert);
            runtime.put("xnnpack", model.xnnpack);
            Map<String, Object> file = new LinkedHashMap<String, Object>();
            file.put("name", model.facts.name);
            file.put("precision", model.facts.precision);
            file.put("size_bytes", model.stored.bytes);
            file.put("sha256", sha256);
            Map<String, Object> facts = new LinkedHashMap<String, Object>();
            facts.put("app", app);
            facts.put("began_unix_ms", began);
            facts.put("runtime", runtime);
            facts.put("phone", phone);
            facts.put("model", file);
            return report.json(facts);
        }
    }

    private final Context context;
    private final Engine engine;
    private final PassageLoader passages;
    private Measured measured;
    private String notice;
    private AskJob job; // the last one; it may have ended

    Benchmarks(Context context, Engine engine, PassageLoader passages) {
        this.context = context;
        this.engine = engine;
        this.passages = passages;
    }

    /** Returns the last result; null before the first one and while a benchmark runs. */
    Measured measured() {
        return measured;
    }

    /** Returns why there is no result, as a sentence, or null. */
    String notice() {
        return notice;
    }

    /** Returns the progress of the running benchmark, or null. */
    AskJob job() {
        return engine.state().job == job ? job : null;
    }

    /** Tests whether the engine is free and there are questions to ask. */
    boolean canStart() {
        return engine.state().phase == EngineState.Phase.READY && passages.bundled() != null;
    }

    /** Starts a benchmark with the questions of the bundled passages. Returns false if the engine is busy. */
    boolean start() {
        if (!canStart()) {
            return false;
        }
        List<Benchmark.Question> questions = questions(passages.bundled());
        measured = null;
        notice = null;
        job = engine.start((model, started) -> measure(model, started, questions), outcome());
        engine.listeners.changed(); // again, because only now `job` returns it
        return true;
    }

    private static List<Benchmark.Question> questions(BundledPassages bundled) {
        List<Benchmark.Question> questions = new ArrayList<Benchmark.Question>();
        for (Passage passage : bundled.passages) {
            for (String question : passage.questions) {
                questions.add(new Benchmark.Question(passage.text, question));
            }
        }
        return questions;
    }

    private Measured measure(LoadedModel model, AskJob job, List<Benchmark.Question> questions) throws IOException {
        long began = System.currentTimeMillis();
        Meter meter = new PhoneMeter(context);
        BenchmarkReport report = model.benchmark(questions, meter, Runtime.getRuntime().availableProcessors(), job);
        return new Measured(report, model.info, model.info.stored.sha256(), began);
    }

    private Engine.Outcome<Measured> outcome() {
        return new Engine.Outcome<Measured>() {
            @Override
            public void done(Measured found) {
                measured = found;
            }

            @Override
            public void failed(Throwable fault) {
                notice = Sentences.of(context, fault);
            }
        };
    }
}
