package org.pocketqa.core;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;

/** What a model's package tells of it in a line. */
public final class ModelFacts {
    public final String name;
    public final String precision;
    public final long parameters;
    /** F1 in percent of the model this one was exported from, on the data it was scored on; null where nobody scored it. */
    public final Double f1;

    ModelFacts(Fields info) throws ModelFileException {
        name = info.shortString("name");
        precision = info.shortString("precision");
        parameters = info.object("parameters").count("total");
        f1 = info.has("f1") ? info.number("f1") : null;
    }

    /** Of a file that is known to be whole: quick, for nothing else of it is read or checked. */
    static ModelFacts read(File path) throws IOException {
        RandomAccessFile file = new RandomAccessFile(path, "r");
        try {
            return new ModelFacts(ModelPackage.info(new ZipTail(file)));
        } finally {
            file.close();
        }
    }

    /** The file's name on a phone; export/android/push.py has the same rule. */
    public String fileName() {
        String plain = (name + "-" + precision).replaceAll("[^A-Za-z0-9._-]+", "_").replaceAll("^[._-]+|[._-]+$", "");
        return (plain.isEmpty() ? "model" : plain) + ModelStore.EXTENSION;
    }
}
