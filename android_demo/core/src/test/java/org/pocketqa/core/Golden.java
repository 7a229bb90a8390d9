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

    private Golden() {}

    /** Opens a file in tests/golden; unpacks it if its name ends in .gz. */
    static byte[] bytes(String path) throws IOException {
        try (InputStream file = new FileInputStream(new File(folder(), path));
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

    /** Returns tests/golden in the property `pocketqa.root`, or in the current folder or one above it. */
    private static File folder() throws IOException {
        String root = System.getProperty("pocketqa.root");
        if (root != null) {
            return new File(root, "tests/golden");
        }
        for (File at = new File(System.getProperty("user.dir")).getAbsoluteFile(); at != null; at = at.getParentFile()) {
            File folder = new File(at, "tests/golden");
            if (folder.isDirectory()) {
                return folder;
            }
        }
        throw new IOException("no folder tests/golden above " + System.getProperty("user.dir") + "; set -Dpocketqa.root");
    }
}
