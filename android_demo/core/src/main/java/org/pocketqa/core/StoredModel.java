package org.pocketqa.core;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;

/** A model file that lies in one of the app's folders. */
public final class StoredModel {
    public final File file;
    public final String name;
    /** Pushed into the shared folder, not copied into the private one. */
    public final boolean external;
    /** Its size when it was listed. */
    public final long bytes;
    /** Tells a file from one that was put in its place later: its size and time when it was listed. */
    public final String version;

    StoredModel(File file, boolean external) {
        this.file = file;
        this.name = file.getName();
        this.external = external;
        this.bytes = file.length();
        this.version = bytes + " " + file.lastModified();
    }

    /** Of the whole file, as `sha256sum` prints it. */
    public String sha256() throws IOException {
        RandomAccessFile opened = new RandomAccessFile(file, "r");
        try {
            return Sha256.of(opened, opened.length());
        } finally {
            opened.close();
        }
    }
}
