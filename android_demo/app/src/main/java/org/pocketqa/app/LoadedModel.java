package org.pocketqa.app;

import android.content.res.Resources;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import org.pocketqa.core.Answers;
import org.pocketqa.core.ModelFileException;
import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.QuestionAnswerer;
import org.pocketqa.core.StoredModel;

/** A model that this phone has proved to compute rightly. On the engine's thread only. */
final class LoadedModel implements Closeable {
    private final ModelPackage model;
    private final LiteRtModel runtime;
    private final QuestionAnswerer answerer;
    private final int threads;
    private final boolean xnnpack;
    private final double probeDifference;

    private LoadedModel(ModelPackage model, LiteRtModel runtime, int threads, boolean xnnpack, Resources words)
            throws ModelFileException {
        this.model = model;
        this.runtime = runtime;
        this.threads = threads;
        this.xnnpack = xnnpack;
        answerer = new QuestionAnswerer(model, runtime);
        try {
            probeDifference = answerer.checkProbe();
        } catch (RuntimeException fault) { // a kernel that this phone's runtime lacks shows itself only when it runs
            throw new ModelFileException(words.getString(R.string.runtime_fails, Sentences.reason(fault)));
        }
    }

    /** Reads, opens and probes a file; ModelFileException or another IOException when it cannot be used. */
    static LoadedModel open(File file, int threads, boolean xnnpack, Resources words) throws IOException {
        ModelPackage model = ModelPackage.read(file);
        LiteRtModel runtime = LiteRtModel.open(file, model.signatures, threads, xnnpack, words);
        LoadedModel loaded = null;
        try {
            loaded = new LoadedModel(model, runtime, threads, xnnpack, words);
            return loaded;
        } finally {
            if (loaded == null) {
                runtime.close();
            }
        }
    }

    ModelInfo info(StoredModel stored) {
        return new ModelInfo(stored, model, threads, xnnpack, probeDifference);
    }

    /** Answers a question; CancellationException when the job is cancelled. */
    Answers ask(String passage, String question, AskJob job) {
        job.begin(runtime);
        return answerer.ask(passage, question, job);
    }

    @Override
    public void close() {
        runtime.close();
    }
}
