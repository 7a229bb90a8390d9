package org.pocketqa.app;

import android.content.Context;
import java.io.IOException;
import org.pocketqa.core.StoredModel;

/**
 * Loads models and runs work with the model in use, one task at a time on one background thread. Outlives every screen.
 *
 * Call it on the main thread; it notifies its listeners there. A new model replaces the old one only after this phone computed
 * its probe correctly. After any failure, the old model stays in use.
 */
final class Engine {
    /** Work with the model in use, on the engine's thread. Throws CancellationException when the job is cancelled. */
    interface Work<T> {
        T with(LoadedModel model, AskJob job) throws IOException;
    }

    /** Callbacks for the result, on the main thread. Cancelled work calls none. */
    interface Outcome<T> {
        void done(T result);

        void failed(Throwable fault);
    }

    final Listeners listeners = new Listeners();
    private final Context context;
    private final Settings settings;
    private final ModelFolders folders;
    private final Background thread = new Background("engine");

    // On the engine's thread only.
    private LoadedModel loaded;

    // On the main thread only.
    private ModelInfo model;
    private String loading;
    private int loads; // waiting and running
    private AskJob job;
    private LoadProblem problem;

    Engine(Context context, Settings settings, ModelFolders folders) {
        this.context = context;
        this.settings = settings;
        this.folders = folders;
    }

    EngineState state() {
        return new EngineState(model, loading, job, problem);
    }

    /** Replaces the model in use, with the number of threads in the settings. */
    void load(StoredModel stored) {
        load(stored, settings.threads());
    }

    private void load(final StoredModel stored, final int threads) {
        cancel();
        loads++;
        loading = stored.name;
        problem = null;
        thread.run(
                new Background.Task<ModelInfo>() {
                    @Override
                    ModelInfo work() throws IOException {
                        return replace(stored, threads);
                    }

                    @Override
                    void done(ModelInfo info) {
                        model = info;
                        settings.setModel(stored);
                        settings.setThreads(threads);
                        loadEnded();
                    }

                    @Override
                    void failed(Throwable fault) {
                        problem = new LoadProblem(stored.name, Sentences.of(context, fault));
                        loadEnded();
                    }
                });
        listeners.changed();
    }

    private void loadEnded() {
        loads--;
        loading = loads > 0 ? loading : null;
        listeners.changed();
    }

    /** Opens a model. If the app ends meanwhile, the next start knows the file. Engine's thread only. */
    private LoadedModel open(StoredModel stored, int threads) throws IOException {
        boolean xnnpack = !settings.endedWithXnnpack(stored);
        settings.setLoading(stored, xnnpack);
        LoadedModel fresh = null;
        try {
            fresh = LoadedModel.open(stored, threads, xnnpack, context.getResources());
            return fresh;
        } finally {
            folders.store().settle(stored, fresh != null);
            settings.loaded(stored);
        }
    }

    private ModelInfo replace(StoredModel stored, int threads) throws IOException {
        LoadedModel fresh = open(stored, threads);
        if (loaded != null) {
            loaded.close();
        }
        loaded = fresh;
        return fresh.info;
    }

    /** Loads the model in use again with this number of threads. Without a model, the number is for the next one. */
    void setThreads(int threads) {
        if (model == null) {
            settings.setThreads(threads);
            listeners.changed();
        } else if (threads != model.threads) {
            load(model.stored, threads);
        }
    }

    /** Returns the threads of the model in use, or of the next one. */
    int threads() {
        return model != null ? model.threads : settings.threads();
    }

    /** Stops using a deleted model, if it is in use. */
    void unload(final StoredModel deleted) {
        if (model == null || !model.stored.file.equals(deleted.file)) {
            return;
        }
        cancel();
        model = null;
        thread.run(
                Background.task(
                        () -> {
                            if (loaded != null && loaded.info.stored.file.equals(deleted.file)) {
                                loaded.close();
                                loaded = null;
                            }
                        }));
        listeners.changed();
    }

    /** Shows a problem with a file that could not be copied, until another file is tried; null removes it. */
    void report(LoadProblem found) {
        problem = found;
        listeners.changed();
    }

    /** Starts work and returns its job; null if the engine is busy. */
    <T> AskJob start(final Work<T> work, final Outcome<T> outcome) {
        if (state().phase != EngineState.Phase.READY) {
            return null;
        }
        final AskJob current = new AskJob(() -> listeners.changed());
        job = current;
        thread.run(
                new Background.Task<T>() {
                    @Override
                    T work() throws IOException {
                        return work.with(loaded, current);
                    }

                    @Override
                    void done(T result) {
                        end(current, () -> outcome.done(result));
                    }

                    @Override
                    void failed(Throwable fault) {
                        end(current, () -> outcome.failed(fault));
                    }
                });
        listeners.changed();
        return current;
    }

    private void end(AskJob ended, Runnable report) {
        job = null;
        if (!ended.isCancelled()) {
            report.run();
        }
        listeners.changed();
    }

    /** Cancels the running work, if any. The engine is ready again when the model returns. */
    void cancel() {
        if (job != null && !job.isCancelled()) {
            job.cancel();
            listeners.changed();
        }
    }
}
