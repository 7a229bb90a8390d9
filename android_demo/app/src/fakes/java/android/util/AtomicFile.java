package android.util;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;

public class AtomicFile {
    private final File file;
    private final File fresh;

    public AtomicFile(File file) {
        this.file = file;
        fresh = new File(file.getPath() + ".new");
    }

    public FileOutputStream startWrite() throws IOException {
        return new FileOutputStream(fresh);
    }

    public void finishWrite(FileOutputStream out) {
        close(out);
        fresh.renameTo(file);
    }

    public void failWrite(FileOutputStream out) {
        close(out);
        fresh.delete();
    }

    public FileInputStream openRead() throws FileNotFoundException {
        return new FileInputStream(file);
    }

    private static void close(FileOutputStream out) {
        try {
            out.close();
        } catch (IOException error) {
            throw new AssertionError(error);
        }
    }
}
