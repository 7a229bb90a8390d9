package org.pocketqa.app;

import java.io.File;
import java.io.IOException;
import org.pocketqa.core.ModelStore;
import org.pocketqa.core.StoredModel;

/** A fresh copy under a temporary name: kept under its own once it works, else deleted. */
final class CopiedOrigin implements ModelOrigin {
    private final ModelStore store;
    private final File received;
    private final String displayName;

    CopiedOrigin(ModelStore store, File received, String displayName) {
        this.store = store;
        this.received = received;
        this.displayName = displayName;
    }

    @Override
    public File file() {
        return received;
    }

    @Override
    public String name() {
        return displayName;
    }

    @Override
    public StoredModel accept() throws IOException {
        return store.keep(received, displayName);
    }

    @Override
    public void reject() {
        store.discard(received);
    }
}
