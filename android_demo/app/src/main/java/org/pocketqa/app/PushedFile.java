package org.pocketqa.app;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.pocketqa.core.StoredModel;

/** File that a computer pushed into the app's inbox. It is deleted when the app has its own copy. */
final class PushedFile implements Incoming {
    private final File file;
    private final String version;
    private final Runnable refused;

    PushedFile(File file, String version, Runnable refused) {
        this.file = file;
        this.version = version;
        this.refused = refused;
    }

    @Override
    public InputStream open() throws IOException {
        return new FileInputStream(file);
    }

    @Override
    public String name() {
        return file.getName();
    }

    @Override
    public long bytes() {
        return file.length();
    }

    @Override
    public void taken() {
        if (StoredModel.version(file).equals(version)) { // else another one was pushed meanwhile
            file.delete(); // if it cannot be deleted, the next start imports it again, over the same model
        }
    }

    @Override
    public void refused() {
        refused.run();
    }
}
