package org.pocketqa.core;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.zip.CRC32;

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
        String whole = name + "-" + precision;
        String plain = whole.replaceAll("[^A-Za-z0-9._-]+", "_").replaceAll("^[._-]+|[._-]+$", "");
        if (!plain.equals(whole)) { // names of other scripts would become one
            CRC32 mark = new CRC32();
            byte[] bytes = whole.getBytes(StandardCharsets.UTF_8);
            mark.update(bytes, 0, bytes.length);
            plain = String.format(Locale.ROOT, "%s-%08x", plain, mark.getValue());
        }
        return plain + ModelStore.EXTENSION;
    }
}
