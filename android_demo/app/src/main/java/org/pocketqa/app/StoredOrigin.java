package org.pocketqa.app;

import java.io.File;
import java.io.IOException;
import org.pocketqa.core.ModelStore;
import org.pocketqa.core.StoredModel;

/** A model file that lies in one of the app's folders and stays there, whatever comes of it. */
final class StoredOrigin implements ModelOrigin {
    private final ModelStore store;
    private final StoredModel model;
    private File opened;

    StoredOrigin(ModelStore store, StoredModel model) {
        this.store = store;
        this.model = model;
    }

    @Override
    public File file() throws IOException {
        opened = store.unchanging(model);
        return opened;
    }

    @Override
    public String name() {
        return model.name;
    }

    @Override
    public StoredModel accept() {
        reject(); // the runtime has it mapped by now, which outlives the file's name
        return model;
    }

    @Override
    public void reject() {
        if (opened != null && !opened.equals(model.file)) {
            store.discard(opened);
        }
    }
}
