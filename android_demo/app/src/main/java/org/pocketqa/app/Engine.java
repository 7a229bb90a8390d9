package org.pocketqa.app;

import android.content.Context;
import java.io.IOException;
import org.pocketqa.core.Answers;
import org.pocketqa.core.StoredModel;

/**
 * Loads models and answers questions, one at a time on one background thread. It outlives every screen.
 *
 * Called on the main thread, where its listeners are told. A new model replaces the old one only after it has loaded and this
 * phone has computed its probe rightly; whatever fails leaves the old one in use.
 */
final class Engine {
    /** Who asked. On the main thread, and not at all for a question that was cancelled. */
    interface Asker {
        void answered(Result result);

        void failed(Throwable fault);
    }

    final Listeners listeners = new Listeners();
    private final Context context;
    private final Settings settings;
    private final Background thread = new Background("engine");

    // On the engine's thread only.
    private LoadedModel loaded;
    private StoredModel loadedFrom;

    // On the main thread only.
    private ModelInfo model;
    private String loading;
    private int loads; // waiting and under way
    private AskJob job;
    private LoadProblem problem;

    Engine(Context context, Settings settings) {
        this.context = context;
        this.settings = settings;
    }

    EngineState state() {
        return new EngineState(model, loading, job, problem);
    }

    /** Takes a model into use in place of the present one, with the number of threads in the settings. */
    void load(StoredModel stored) {
        load(stored, settings.threads());
    }

    private void load(final StoredModel stored, final int threads) {
        cancel();
        loads++;
        loading = stored.name;
        problem = null;
        final boolean xnnpack = !settings.endedWithXnnpack(stored);
        thread.run(
                new Background.Task<ModelInfo>() {
                    @Override
                    ModelInfo work() throws IOException {
                        return replace(stored, threads, xnnpack);
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

    private ModelInfo replace(StoredModel stored, int threads, boolean xnnpack) throws IOException {
        settings.setLoading(stored, xnnpack);
        LoadedModel fresh;
        try {
            fresh = LoadedModel.open(stored.file, threads, xnnpack, context.getResources());
        } finally {
            settings.loaded();
        }
        if (loaded != null) {
            loaded.close();
        }
        loaded = fresh;
        loadedFrom = stored;
        return fresh.info(stored);
    }

    /** Loads the model in use again with this many threads; without one, they are for the next. */
    void setThreads(int threads) {
        if (model == null) {
            settings.setThreads(threads);
            listeners.changed();
        } else if (threads != model.threads) {
            load(model.stored, threads);
        }
    }

    /** Threads of the model in use, else those the next one gets. */
    int threads() {
        return model != null ? model.threads : settings.threads();
    }

    /** Stops using a model whose file has been deleted; nothing when another is in use. */
    void unload(final StoredModel deleted) {
        if (model == null || !model.stored.file.equals(deleted.file)) {
            return;
        }
        cancel();
        model = null;
        thread.run(
                new Background.Task<Void>() {
                    @Override
                    Void work() {
                        if (loaded != null && loadedFrom.file.equals(deleted.file)) {
                            loaded.close();
                            loaded = null;
                        }
                        return null;
                    }
                });
        listeners.changed();
    }

    /** Shows a problem with a file that never got here; it stands until another file is tried. */
    void report(LoadProblem found) {
        problem = found;
        listeners.changed();
    }

    /** The user has seen the problem. */
    void dismissProblem() {
        report(null);
    }

    /** Answers a question unless something else is under way. True if it is on its way. */
    boolean ask(final Passage passage, final String question, final Asker asker) {
        if (state().phase != EngineState.Phase.READY) {
            return false;
        }
        final ModelInfo asked = model;
        final AskJob current = new AskJob(progressReport());
        job = current;
        thread.run(
                new Background.Task<Answers>() {
                    @Override
                    Answers work() {
                        return loaded.ask(passage.text, question, current);
                    }

                    @Override
                    void done(Answers answers) {
                        job = null;
                        if (!current.isCancelled()) {
                            asker.answered(new Result(passage, question, answers, asked));
                        }
                        listeners.changed();
                    }

                    @Override
                    void failed(Throwable fault) {
                        job = null;
                        if (!current.isCancelled()) {
                            asker.failed(fault);
                        }
                        listeners.changed();
                    }
                });
        listeners.changed();
        return true;
    }

    private Runnable progressReport() {
        return () -> listeners.changed();
    }

    /** Stops the question under way, if there is one; the engine is ready again once the model lets go. */
    void cancel() {
        if (job != null && !job.isCancelled()) {
            job.cancel();
            listeners.changed();
        }
    }
}
