package org.pocketqa.core;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;

/** Model file in the app's folder. */
public final class StoredModel {
    public final File file;
    public final String name;
    /** File size when it was listed. */
    public final long bytes;
    /** Size and modification time when it was listed; detects a replaced file. */
    public final String version;
    /** Summary from its package; null if it cannot be read. */
    public final ModelFacts facts;

    /** Describes a file as it is now. */
    public StoredModel(File file) {
        this.file = file;
        this.name = file.getName();
        this.bytes = file.length();
        this.version = version(file);
        this.facts = facts(file);
    }

    /** Returns the current version of a file. */
    public static String version(File file) {
        return file.length() + " " + file.lastModified();
    }

    private static ModelFacts facts(File file) {
        try {
            return ModelFacts.read(file);
        } catch (IOException damaged) { // loading the file reports the fault
            return null;
        }
    }

    /** Returns the SHA-256 of a model that is not stored yet. */
    public static String sha256(InputStream in) throws IOException {
        return Sha256.of(in);
    }

    /** Returns the SHA-256 of the complete file, as `sha256sum` prints it. */
    public String sha256() throws IOException {
        try (RandomAccessFile opened = new RandomAccessFile(file, "r")) {
            return Sha256.of(opened, opened.length());
        }
    }
}
