package org.pocketqa.app;

import android.content.Context;
import android.widget.Toast;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.pocketqa.core.StoredModel;

/** The model files on this phone: which there are, which is used, and deleting. Main thread. */
final class ModelShelf implements Listeners.Listener {
    final Listeners listeners = new Listeners();
    private final Context context;
    private final ModelFolders folders;
    private final Engine engine;
    private final Settings settings;
    private final Background thread = new Background("models");
    private List<StoredModel> models = new ArrayList<StoredModel>();
    private ModelInfo seen;
    private boolean listed;
    private String endedOn; // key of the file on which the app ended the last time, until that is told
    private String triedVersion; // of the pushed model in use: one that fails is not tried again
    private boolean loadedOne; // by itself: once in a process, so that a file that fails is not tried on every visit

    ModelShelf(Context context, ModelFolders folders, Engine engine, Settings settings) {
        this.context = context;
        this.folders = folders;
        this.engine = engine;
        this.settings = settings;
        endedOn = settings.loading();
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
                        return folders.store().list();
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

    /** Are these the same files, and none of them replaced? */
    static boolean same(List<StoredModel> some, List<StoredModel> others) {
        boolean same = some.size() == others.size();
        for (int i = 0; same && i < some.size(); i++) {
            same = some.get(i).file.equals(others.get(i).file) && some.get(i).version.equals(others.get(i).version);
        }
        return same;
    }

    // The model chosen last; without a choice, the only one there is. Never the one on which the app ended: it would end again.
    private void loadOne() {
        if (loadedOne || engine.state().phase != EngineState.Phase.NO_MODEL) {
            return;
        }
        String chosen = settings.model();
        StoredModel wanted = chosen == null && models.size() == 1 ? models.get(0) : null;
        for (StoredModel model : models) {
            wanted = Settings.key(model).equals(chosen) ? model : wanted;
        }
        loadedOne = wanted != null || chosen != null;
        String ended = endedOn;
        endedOn = null;
        boolean blamed = wanted != null && Settings.key(wanted).equals(ended);
        if (ended != null && !blamed) {
            settings.forgetLoading();
        }
        if (wanted != null && !blamed) {
            engine.load(wanted);
        }
        if (ended != null) {
            engine.report(new LoadProblem(Settings.name(ended), context.getString(R.string.fault_ended)));
        } else if (wanted == null && chosen != null) {
            engine.report(new LoadProblem(Settings.name(chosen), context.getString(R.string.fault_gone)));
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
                        folders.store().delete(model);
                        return null;
                    }

                    @Override
                    void done(Void nothing) {
                        loadedOne = true;
                        settings.forget(model);
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
