package org.pocketqa.app;

import android.content.Context;
import java.io.File;
import java.util.Arrays;
import org.pocketqa.core.ModelStore;

/** The app's folders for models. Making and cleaning them is file work: the first thread that needs them does it. */
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
            File files = context.getFilesDir();
            // The second is for a debug build's run-as, where adb may not write into the shared folder.
            store = new ModelStore(new File(files, "models"), Arrays.asList(pushFolder, new File(files, "inbox")));
        }
        return store;
    }

    /** Where adb pushes models to, known once models have been listed; null when this phone has no shared folder now. */
    File pushFolder() {
        return pushFolder;
    }
}
