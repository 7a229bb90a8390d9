package org.pocketqa.app;

import android.app.Application;
import java.util.UUID;

/** Holds the state that outlives the screens: a rotation must not lose an answer or a loaded model. */
public final class PocketQaApp extends Application {
    /** Id of this process: a result that a screen waited for does not arrive in the next process. */
    static final String PROCESS = UUID.randomUUID().toString();

    Settings settings;
    ModelFolders folders;
    Engine engine;
    Workspace workspace;
    PassageLoader passages;
    ModelShelf shelf;
    ModelCopier copier;
    Benchmarks benchmarks;

    @Override
    public void onCreate() {
        super.onCreate();
        settings = new Settings(this);
        folders = new ModelFolders(this);
        engine = new Engine(this, settings, folders);
        workspace = new Workspace(this, engine, settings);
        passages = new PassageLoader(this, workspace);
        copier = new ModelCopier(this, folders, engine);
        shelf = new ModelShelf(this, folders, engine, copier, settings);
        benchmarks = new Benchmarks(this, engine, passages);
        passages.restore();
        shelf.refresh();
    }
}
