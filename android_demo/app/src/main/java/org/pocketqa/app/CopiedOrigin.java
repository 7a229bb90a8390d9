package org.pocketqa.app;

import java.io.File;
import java.io.IOException;
import org.pocketqa.core.StoredModel;

/** A fresh copy under a temporary name: kept under its own once it works, else deleted. */
final class CopiedOrigin implements ModelOrigin {
    private final ModelFolders folders;
    private final File received;
    private final String displayName;

    CopiedOrigin(ModelFolders folders, File received, String displayName) {
        this.folders = folders;
        this.received = received;
        this.displayName = displayName;
    }

    @Override
    public String key() {
        return Settings.keyOfNew(displayName);
    }

    @Override
    public File file() {
        return received;
    }

    @Override
    public StoredModel accept() throws IOException {
        return folders.store().keep(received, displayName);
    }

    @Override
    public void reject() {
        folders.store().discard(received);
    }
}
