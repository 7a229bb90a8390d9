package org.pocketqa.app;

import java.io.File;
import java.io.IOException;
import org.pocketqa.core.StoredModel;

/** A model file that lies in one of the app's folders and stays there, whatever comes of it. */
final class StoredOrigin implements ModelOrigin {
    private final ModelFolders folders;
    private final StoredModel model;
    private File opened;

    StoredOrigin(ModelFolders folders, StoredModel model) {
        this.folders = folders;
        this.model = model;
    }

    @Override
    public String key() {
        return Settings.key(model);
    }

    @Override
    public File file() throws IOException {
        opened = folders.store().unchanging(model);
        return opened;
    }

    @Override
    public StoredModel accept() {
        reject(); // the runtime has it mapped by now, which outlives the file's name
        return model;
    }

    @Override
    public void reject() {
        if (opened != null && !opened.equals(model.file)) {
            folders.store().discard(opened);
        }
    }
}
