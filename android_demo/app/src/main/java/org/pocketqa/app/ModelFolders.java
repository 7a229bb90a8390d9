package org.pocketqa.app;

import android.content.Context;
import java.io.File;
import java.util.Arrays;
import org.pocketqa.core.ModelStore;

/** The app's folders for models. The first (background) thread that needs them makes and cleans them. */
final class ModelFolders {
    private final Context context;
    private ModelStore store;
    private volatile File pushFolder;

    ModelFolders(Context context) {
        this.context = context;
    }

    /** Returns the store. Not on the main thread. */
    synchronized ModelStore store() {
        if (store == null) {
            pushFolder = context.getExternalFilesDir(null); // creates the folder; adb cannot do it from Android 11 on
            File files = context.getFilesDir();
            // The second folder is for run-as with a debug build, if adb may not write into the shared folder.
            store = new ModelStore(new File(files, "models"), Arrays.asList(pushFolder, new File(files, "inbox")));
        }
        return store;
    }

    /** Returns the folder for adb, known after models were listed; null if this phone has no shared folder now. */
    File pushFolder() {
        return pushFolder;
    }
}
