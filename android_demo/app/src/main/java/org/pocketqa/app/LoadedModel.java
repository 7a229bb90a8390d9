package org.pocketqa.app;

import android.content.res.Resources;
import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import org.pocketqa.core.Benchmark;
import org.pocketqa.core.BenchmarkReport;
import org.pocketqa.core.Meter;
import org.pocketqa.core.Mode;
import org.pocketqa.core.ModelFileException;
import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.QuestionAnswerer;
import org.pocketqa.core.StoredModel;

/** Loaded model whose probe this phone computed correctly. Engine's thread only. */
final class LoadedModel implements Closeable {
    final ModelInfo info;
    final ModelPackage model;
    private final LiteRtModel runtime;
    private final QuestionAnswerer answerer;
    private final Resources words;

    private LoadedModel(
            StoredModel stored, ModelPackage model, LiteRtModel runtime, int threads, boolean xnnpack, Resources words)
            throws ModelFileException {
        this.model = model;
        this.runtime = runtime;
        this.words = words;
        answerer = new QuestionAnswerer(model, runtime);
        try {
            info = new ModelInfo(stored, model, threads, xnnpack, answerer.checkProbe());
        } catch (RuntimeException fault) { // a kernel that this runtime lacks fails only when it runs
            throw new ModelFileException(words.getString(R.string.runtime_fails, Sentences.reason(fault)));
        }
    }

    /** Reads, opens and probes a file. Throws ModelFileException or another IOException if it cannot be used. */
    static LoadedModel open(StoredModel stored, int threads, boolean xnnpack, Resources words) throws IOException {
        ModelPackage model = ModelPackage.read(stored.file);
        LiteRtModel runtime = LiteRtModel.open(stored.file, model.signatures, threads, xnnpack, words);
        LoadedModel loaded = null;
        try {
            loaded = new LoadedModel(stored, model, runtime, threads, xnnpack, words);
            return loaded;
        } finally {
            if (loaded == null) {
                runtime.close();
            }
        }
    }

    /** Answers a question, in mode balanced if the file lacks the mode. Throws CancellationException when the job is cancelled. */
    Result ask(Passage passage, String question, boolean readAll, Mode mode, AskJob job) {
        job.begin(runtime);
        return new Result(passage, question, answerer.ask(passage.text, question, readAll, info.usable(mode), job), info);
    }

    /** Times this model, opened again for each number of threads. Throws CancellationException when the job is cancelled. */
    BenchmarkReport benchmark(List<Benchmark.Question> questions, Meter meter, int cores, AskJob job) {
        return new Benchmark(model, threads -> reopened(threads, job), meter, cores, questions, job).run();
    }

    private LiteRtModel reopened(int threads, AskJob job) throws ModelFileException {
        LiteRtModel fresh = LiteRtModel.open(info.stored.file, model.signatures, threads, info.xnnpack, words);
        boolean begun = false;
        try {
            job.begin(fresh);
            begun = true;
            return fresh;
        } finally {
            if (!begun) {
                fresh.close();
            }
        }
    }

    @Override
    public void close() {
        runtime.close();
    }
}
