package org.pocketqa.app;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;

/** A file that a computer put into the app's inbox; it goes once the app has its own copy. */
final class PushedFile implements Incoming {
    private final File file;
    private final Runnable refused;

    PushedFile(File file, Runnable refused) {
        this.file = file;
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
        file.delete(); // one that cannot be deleted is taken in once more at the next start, over itself
    }

    @Override
    public void refused() {
        refused.run();
    }
}
