package org.pocketqa.core;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;

/** A model file in the app's folder. */
public final class StoredModel {
    public final File file;
    public final String name;
    /** Its size when it was listed. */
    public final long bytes;
    /** Tells a file from one that was put in its place later: its size and time when it was listed. */
    public final String version;
    /** What its package says of it; null when it cannot be read any more. */
    public final ModelFacts facts;

    StoredModel(File file) {
        this.file = file;
        this.name = file.getName();
        this.bytes = file.length();
        this.version = version(file);
        this.facts = facts(file);
    }

    /** The version of any file as it is now. */
    public static String version(File file) {
        return file.length() + " " + file.lastModified();
    }

    private static ModelFacts facts(File file) {
        try {
            return ModelFacts.read(file);
        } catch (IOException damaged) { // loading it says what is wrong
            return null;
        }
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
