package org.pocketqa.app;

import android.content.Context;
import android.widget.Toast;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.pocketqa.core.ModelStore;
import org.pocketqa.core.StoredModel;

/** The model files on this phone: which there are, which is used, and deleting. Main thread. */
final class ModelShelf implements Listeners.Listener {
    final Listeners listeners = new Listeners();
    private final Context context;
    private final ModelStore store;
    private final Engine engine;
    private final Settings settings;
    private final Background thread = new Background("models");
    private List<StoredModel> models = new ArrayList<StoredModel>();
    private ModelInfo seen;
    private boolean listed;
    private final boolean endedWhileLoading;
    private String triedVersion; // of the pushed model in use: one that fails is not tried again
    private boolean loadedOne; // by itself: once in a process, so that a file that fails is not tried on every visit

    ModelShelf(Context context, ModelStore store, Engine engine, Settings settings) {
        this.context = context;
        this.store = store;
        this.engine = engine;
        this.settings = settings;
        endedWhileLoading = settings.endedWhileLoading();
        engine.listeners.add(this);
    }

    /** As of the last listing. */
    List<StoredModel> models() {
        return models;
    }

    /** False until the first listing is there. */
    boolean listed() {
        return listed;
    }

    /** Looks into the folders again: a model may have been pushed or removed from outside. */
    void refresh() {
        thread.run(
                new Background.Task<List<StoredModel>>() {
                    @Override
                    List<StoredModel> work() {
                        return store.list();
                    }

                    @Override
                    void done(List<StoredModel> found) {
                        models = found;
                        listed = true;
                        loadOne();
                        reloadChanged();
                        listeners.changed();
                    }

                    @Override
                    void failed(Throwable fault) {
                        tell(fault);
                    }
                });
    }

    /** The engine changed: a file that was just taken into use may be new here. */
    @Override
    public void changed() {
        ModelInfo used = engine.state().model;
        if (used != seen) {
            seen = used;
            refresh();
        }
    }

    // The model chosen last; without a choice, the only one there is.
    private void loadOne() {
        if (loadedOne || engine.state().phase != EngineState.Phase.NO_MODEL) {
            return;
        }
        String chosen = settings.model();
        StoredModel wanted = chosen == null && models.size() == 1 ? models.get(0) : null;
        for (StoredModel model : models) {
            wanted = Settings.key(model).equals(chosen) ? model : wanted;
        }
        if (wanted != null && endedWhileLoading) {
            loadedOne = true;
            engine.report(new LoadProblem(wanted.name, context.getString(R.string.fault_ended)));
        } else if (wanted != null) {
            loadedOne = true;
            engine.load(wanted);
        } else if (chosen != null) {
            loadedOne = true;
            String name = chosen.substring(chosen.indexOf('/') + 1);
            engine.report(new LoadProblem(name, context.getString(R.string.fault_gone)));
        }
    }

    // Another file was pushed under the name of the one in use.
    private void reloadChanged() {
        EngineState state = engine.state();
        if (state.phase != EngineState.Phase.READY || !state.model.stored.external) {
            return;
        }
        for (StoredModel model : models) {
            boolean same = model.file.equals(state.model.stored.file);
            if (same && !model.version.equals(state.model.stored.version) && !model.version.equals(triedVersion)) {
                triedVersion = model.version;
                engine.load(model);
            }
        }
    }

    void use(StoredModel model) {
        loadedOne = true;
        engine.load(model);
    }

    /** Deletes a copied model; when it is in use, the engine is left without one. */
    void delete(final StoredModel model) {
        thread.run(
                new Background.Task<Void>() {
                    @Override
                    Void work() throws IOException {
                        store.delete(model);
                        return null;
                    }

                    @Override
                    void done(Void nothing) {
                        loadedOne = true;
                        engine.unload(model);
                        refresh();
                    }

                    @Override
                    void failed(Throwable fault) {
                        tell(fault);
                        refresh();
                    }
                });
    }

    private void tell(Throwable fault) {
        Toast.makeText(context, Sentences.of(context, fault), Toast.LENGTH_LONG).show();
    }
}
