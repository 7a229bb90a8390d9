package org.pocketqa.core;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import java.util.zip.GZIPInputStream;

/** Golden files recorded by Python (tests/golden), used by both languages. */
final class Golden {
    private static final Charset UTF_8 = Charset.forName("UTF-8");

    private static final File FOLDER = new File(System.getProperty("pocketqa.root"), "tests/golden");

    private Golden() {}

    /** Opens a file in tests/golden; unpacks it if its name ends in .gz. */
    static byte[] bytes(String path) throws IOException {
        try (InputStream file = new FileInputStream(new File(FOLDER, path));
                InputStream in = path.endsWith(".gz") ? new GZIPInputStream(file) : file) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] block = new byte[1 << 16];
            for (int n = in.read(block); n >= 0; n = in.read(block)) {
                out.write(block, 0, n);
            }
            return out.toByteArray();
        }
    }

    static String text(String path) throws IOException {
        return new String(bytes(path), UTF_8);
    }

    static Object json(String path) throws IOException {
        return Json.parse(text(path));
    }
}
