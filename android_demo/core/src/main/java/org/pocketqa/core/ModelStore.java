package org.pocketqa.core;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Private folder of model files, and the inbox folders into which computers push new ones. */
public final class ModelStore {
    public static final String EXTENSION = ".tflite";
    private static final String UNFINISHED = ".unfinished";
    private static final String BEFORE = ".before"; // a model whose successor was not loaded yet
    private static final int BLOCK = 1 << 16;
    private static final long MOST_BYTES = 1000 * 1000 * 1000;
    private static final long BYTES_LEFT_FREE = 200 * 1000 * 1000; // for the system and other apps

    private final File folder;
    private final List<File> inboxes;
    private volatile List<StoredModel> listed = new ArrayList<StoredModel>();

    /** Removes unfinished copies and replacements; so an app creates one store only. */
    public ModelStore(File folder, List<File> inboxes) {
        this.folder = folder;
        this.inboxes = inboxes;
        for (File left : files(folder, UNFINISHED)) { // an interrupted copy
            discard(left);
        }
        for (File before : files(folder, BEFORE)) { // the app ended before it had loaded the new model
            String name = before.getName();
            before.renameTo(new File(folder, name.substring(0, name.length() - BEFORE.length())));
        }
    }

    /** Returns all models, ordered by name. An unchanged file is the same object as in the last list. */
    public List<StoredModel> list() {
        List<StoredModel> models = new ArrayList<StoredModel>();
        for (File file : files(folder, EXTENSION)) {
            StoredModel known = known(file);
            models.add(known != null ? known : new StoredModel(file));
        }
        listed = models;
        return models;
    }

    // An unchanged file is not opened again: the app lists the models every two seconds.
    private StoredModel known(File file) {
        for (StoredModel model : listed) {
            if (model.file.equals(file) && model.version.equals(StoredModel.version(file))) {
                return model;
            }
        }
        return null;
    }

    /** Returns pushed files that were not imported yet, ordered by name. */
    public List<File> pushed() {
        List<File> pushed = new ArrayList<File>();
        for (File inbox : inboxes) {
            pushed.addAll(files(inbox, EXTENSION));
        }
        return pushed;
    }

    /**
     * Copies a model into the private folder under a temporary name and checks it. Call `keep` or `discard` afterwards.
     *
     * @throws ModelFileException when it is not a usable model
     * @throws IOException when it cannot be read or written; in both cases the copy is removed
     */
    public File receive(InputStream in, CopyProgress progress) throws IOException {
        if (!folder.isDirectory() && !folder.mkdirs()) {
            throw new IOException("The app's folder for models cannot be made. Free some space and try again.");
        }
        File received;
        try {
            received = File.createTempFile("model", UNFINISHED, folder);
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

    // A stream of another app may never end, so there is a limit.
    private void copy(InputStream in, File to, CopyProgress progress) throws IOException {
        long most = Math.min(MOST_BYTES, folder.getUsableSpace() - BYTES_LEFT_FREE);
        try (FileOutputStream out = new FileOutputStream(to)) {
            byte[] block = new byte[BLOCK];
            long bytes = 0;
            for (int n = read(in, block); n >= 0; n = read(in, block)) {
                if (bytes + n > most) {
                    throw new IOException(
                            most == MOST_BYTES
                                    ? "The file is larger than 1 GB. Choose a PocketQA model."
                                    : "The file would leave less than 200 MB free. Free some space and try again.");
                }
                write(out, block, n);
                if (bytes < ModelPackage.MAGIC_BYTES && bytes + n >= ModelPackage.MAGIC_BYTES) {
                    checkMagic(to); // do not copy a large file that is not a model, such as a film
                }
                bytes += n;
                progress.copied(bytes);
            }
            sync(out);
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
        try (RandomAccessFile file = new RandomAccessFile(path, "r")) {
            ModelPackage.checkMagic(file);
        }
    }

    /**
     * Renames a received file after its package. Call `settle` afterwards: until then a model of that name stays under another one.
     */
    public synchronized StoredModel keep(File received) throws IOException {
        File file = new File(folder, ModelFacts.read(received).fileName());
        File before = before(file);
        boolean moved = !before.exists() && file.renameTo(before); // else the file is a replacement that was not loaded yet
        if (!received.renameTo(file)) {
            if (moved) {
                before.renameTo(file);
            }
            throw new IOException("The model cannot be stored as " + file.getName() + ". Free some space and try again.");
        }
        return new StoredModel(file);
    }

    /**
     * Ends a replacement. A good model replaces the one before; otherwise that one comes back. Does nothing if there was none, or if
     * a later copy replaced this model.
     */
    public synchronized void settle(StoredModel model, boolean good) {
        if (!model.version.equals(StoredModel.version(model.file))) {
            return;
        }
        File before = before(model.file);
        if (good) {
            before.delete();
        } else {
            before.renameTo(model.file);
        }
    }

    private static File before(File file) {
        return new File(file.getPath() + BEFORE);
    }

    /** Deletes a received file. If this fails, the next start deletes it. */
    public void discard(File received) {
        received.delete();
    }

    /** Deletes a model. */
    public synchronized void delete(StoredModel model) throws IOException {
        before(model.file).delete(); // else the next start would bring it back
        if (!model.file.delete() && model.file.exists()) {
            throw new IOException(model.name + " cannot be deleted.");
        }
    }

    private static List<File> files(File folder, String ending) {
        File[] found = folder == null ? null : folder.listFiles(file -> file.getName().endsWith(ending) && file.isFile());
        if (found == null) { // there is no such folder
            return Collections.emptyList();
        }
        Arrays.sort(found);
        return Arrays.asList(found);
    }
}
