package org.pocketqa.app;

import android.app.Application;
import android.content.Context;
import java.io.File;
import org.pocketqa.core.ModelStore;

/** Holds what outlives the screens: a turned phone or a screen left must not lose an answer or a loaded model. */
public final class PocketQaApp extends Application {
    /** Where adb pushes models to; null when this phone has no shared folder now. */
    File pushFolder;

    Engine engine;
    Workspace workspace;
    PassageLoader passages;
    ModelShelf shelf;
    ModelCopier copier;
    ModelHashes hashes;

    static PocketQaApp of(Context context) {
        return (PocketQaApp) context.getApplicationContext();
    }

    @Override
    public void onCreate() {
        super.onCreate();
        pushFolder = getExternalFilesDir(null); // makes it; adb cannot from Android 11 on
        ModelStore store = new ModelStore(new File(getFilesDir(), "models"), pushFolder);
        Settings settings = new Settings(this);
        engine = new Engine(this, store, settings);
        workspace = new Workspace(this, engine);
        passages = new PassageLoader(this, workspace);
        shelf = new ModelShelf(this, store, engine, settings);
        copier = new ModelCopier(this, store, engine);
        hashes = new ModelHashes(this);
        passages.restore();
        shelf.refresh();
    }
}
