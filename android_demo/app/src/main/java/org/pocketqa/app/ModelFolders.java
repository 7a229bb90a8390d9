package org.pocketqa.app;

import android.content.Context;
import java.io.File;
import org.pocketqa.core.ModelStore;

/** The app's two folders for models. Making and cleaning them is file work: the first thread that needs them does it. */
final class ModelFolders {
    private final Context context;
    private ModelStore store;
    private volatile File pushFolder;

    ModelFolders(Context context) {
        this.context = context;
    }

    /** Off the main thread. */
    synchronized ModelStore store() {
        if (store == null) {
            pushFolder = context.getExternalFilesDir(null); // makes it; adb cannot from Android 11 on
            store = new ModelStore(new File(context.getFilesDir(), "models"), pushFolder);
        }
        return store;
    }

    /** Where adb pushes models to, known once models have been listed; null when this phone has no shared folder now. */
    File pushFolder() {
        return pushFolder;
    }
}
