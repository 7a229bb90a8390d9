package org.pocketqa.core;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** Model files side by side: copied ones in a private folder, pushed ones in a shared one. Half-written ones are never listed. */
public final class ModelStore {
    public static final String EXTENSION = ".tflite";
    private static final String UNFINISHED = ".unfinished";
    private static final int BLOCK = 1 << 16;
    private static final int LONGEST_NAME = 80; // three bytes a character must fit the 255 that file systems allow

    private static final CopyProgress UNHEARD =
            new CopyProgress() {
                @Override
                public void copied(long bytes) {}
            };

    private final File internal;
    private final File external;

    /**
     * Removes copies that were never finished, so an app makes one store and keeps it.
     *
     * @param external may be null: some phones have no shared folder at times
     */
    public ModelStore(File internal, File external) {
        this.internal = internal;
        this.external = external;
        for (File left : files(internal, UNFINISHED)) { // a copy that was killed
            discard(left);
        }
    }

    /** All models, by name. */
    public List<StoredModel> list() {
        List<StoredModel> models = new ArrayList<StoredModel>();
        for (File file : files(internal, EXTENSION)) {
            models.add(new StoredModel(file, false));
        }
        for (File file : files(external, EXTENSION)) {
            models.add(new StoredModel(file, true));
        }
        Collections.sort(
                models,
                new Comparator<StoredModel>() {
                    @Override
                    public int compare(StoredModel a, StoredModel b) {
                        int byName = a.name.compareToIgnoreCase(b.name);
                        return byName != 0 ? byName : a.file.compareTo(b.file);
                    }
                });
        return models;
    }

    /**
     * Copies a model into the private folder under a temporary name and checks it; `keep` or `discard` must follow.
     *
     * @throws ModelFileException when it is no usable model
     * @throws IOException when it cannot be read or written; nothing is left behind in either case
     */
    public File receive(InputStream in, CopyProgress progress) throws IOException {
        if (!internal.isDirectory() && !internal.mkdirs()) {
            throw new IOException("The app's folder for models cannot be made. Free some space and try again.");
        }
        File received;
        try {
            received = File.createTempFile("model", UNFINISHED, internal);
        } catch (IOException error) {
            throw notStored(error);
        }
        boolean kept = false;
        try {
            copy(in, received, progress);
            ModelPackage.read(received);
            kept = true;
            return received;
        } finally {
            if (!kept) {
                discard(received);
            }
        }
    }

    private static void copy(InputStream in, File to, CopyProgress progress) throws IOException {
        FileOutputStream out = new FileOutputStream(to);
        try {
            byte[] block = new byte[BLOCK];
            long bytes = 0;
            for (int n = read(in, block); n >= 0; n = read(in, block)) {
                write(out, block, n);
                if (bytes < ModelPackage.MAGIC_BYTES && bytes + n >= ModelPackage.MAGIC_BYTES) {
                    checkMagic(to); // a film chosen by mistake is not copied to its end
                }
                bytes += n;
                progress.copied(bytes);
            }
            sync(out);
        } finally {
            out.close();
        }
    }

    private static int read(InputStream in, byte[] block) throws IOException {
        try {
            return in.read(block);
        } catch (IOException error) {
            throw new IOException("The file cannot be read (" + error.getMessage() + "). Choose it again.", error);
        }
    }

    private static void write(FileOutputStream out, byte[] block, int n) throws IOException {
        try {
            out.write(block, 0, n);
        } catch (IOException error) {
            throw notStored(error);
        }
    }

    private static void sync(FileOutputStream out) throws IOException {
        try {
            out.getFD().sync();
        } catch (IOException error) {
            throw notStored(error);
        }
    }

    private static IOException notStored(IOException error) {
        return new IOException("The model cannot be stored (" + error.getMessage() + "). Free some space and try again.", error);
    }

    private static void checkMagic(File path) throws IOException {
        RandomAccessFile file = new RandomAccessFile(path, "r");
        try {
            ModelPackage.checkMagic(file);
        } finally {
            file.close();
        }
    }

    /**
     * A file of this model that nobody else can change: a runtime maps it into memory, and a push onto it would end the app.
     *
     * @return the file of a copied model; of a pushed one a private copy, which the caller discards once it is opened
     * @throws IOException as `receive` does
     */
    public File unchanging(StoredModel model) throws IOException {
        if (!model.external) {
            return model.file;
        }
        InputStream in = new FileInputStream(model.file);
        try {
            return receive(in, UNHEARD);
        } finally {
            in.close();
        }
    }

    /** Gives a received file its name: the display name made safe, with " (2)" when it is taken. */
    public StoredModel keep(File received, String displayName) throws IOException {
        String stem = safeStem(displayName);
        File file = new File(internal, stem + EXTENSION);
        for (int number = 2; file.exists(); number++) {
            file = new File(internal, stem + " (" + number + ")" + EXTENSION);
        }
        if (!received.renameTo(file)) {
            throw new IOException("The model cannot be stored as " + file.getName() + ". Free some space and try again.");
        }
        return new StoredModel(file, false);
    }

    /** Deletes a received file that is not wanted; one that cannot be deleted now is at the next start. */
    public void discard(File received) {
        received.delete();
    }

    /** Deletes a copied model. A pushed one is the user's own to remove. */
    public void delete(StoredModel model) throws IOException {
        if (model.external || !model.file.getParentFile().equals(internal)) {
            throw new IOException(model.name + " was not copied by this app; remove it where it was put.");
        }
        if (!model.file.delete() && model.file.exists()) {
            throw new IOException(model.name + " cannot be deleted.");
        }
    }

    private static String safeStem(String displayName) {
        String name = displayName == null ? "" : displayName.trim();
        boolean ends = name.toLowerCase(Locale.ROOT).endsWith(EXTENSION);
        name = ends ? name.substring(0, name.length() - EXTENSION.length()) : name;
        StringBuilder safe = new StringBuilder();
        for (int i = 0; i < name.length() && safe.length() < LONGEST_NAME; i++) {
            char c = name.charAt(i);
            boolean plain = !Character.isISOControl(c) && !Character.isSurrogate(c) && "/\\:*?\"<>|".indexOf(c) < 0;
            safe.append(plain ? c : '_');
        }
        String stem = safe.toString().trim();
        while (stem.startsWith(".")) { // neither hidden nor a way up
            stem = stem.substring(1).trim();
        }
        return stem.isEmpty() ? "model" : stem;
    }

    private static List<File> files(File folder, String ending) {
        List<File> found = new ArrayList<File>();
        File[] all = folder == null ? null : folder.listFiles();
        for (File file : all == null ? new File[0] : all) {
            if (file.getName().endsWith(ending) && file.isFile()) {
                found.add(file);
            }
        }
        return found;
    }
}
