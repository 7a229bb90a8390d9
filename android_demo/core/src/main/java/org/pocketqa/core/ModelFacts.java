package org.pocketqa.core;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;

/** Summary of a model, from its package. */
public final class ModelFacts {
    public final String name;
    public final String precision;
    public final long parameters;

    ModelFacts(Fields info) throws ModelFileException {
        name = info.shortString("name");
        precision = info.shortString("precision");
        if (!Probe.TOLERANCES.containsKey(precision)) {
            throw Fields.wrong("qa.json: precision", "one of " + Probe.TOLERANCES.keySet(), precision);
        }
        parameters = info.object("parameters").count("total");
    }

    /** Reads the summary of a complete file. Fast, because nothing else is read or checked. */
    static ModelFacts read(File path) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path, "r")) {
            return new ModelFacts(ModelPackage.info(new ZipTail(file)));
        }
    }

    /** Returns the file's name on a phone; export/android/push_to_phone.py has the same rule. */
    public String fileName() {
        String plain = (name + "-" + precision).replaceAll("[^A-Za-z0-9._-]+", "_").replaceAll("^[._-]+|[._-]+$", "");
        return (plain.isEmpty() ? "model" : plain) + ModelStore.EXTENSION;
    }
}
