package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class ModelStoreTest {
    private static final CopyProgress QUIET = bytes -> {};

    @Rule public final TemporaryFolder folder = new TemporaryFolder();

    private final byte[] model = ModelFiles.small().bytes();
    private File internal;
    private File external;
    private ModelStore store;

    @Before
    public void makeStore() throws IOException {
        internal = new File(folder.getRoot(), "internal/models"); // created when it is needed
        external = folder.newFolder("external");
        store = new ModelStore(internal, Arrays.asList(external));
    }

    @Test
    public void aModelIsKeptUnderItsNameAndPrecisionAndReplacesTheOneThere() throws IOException {
        assertEquals("small-fp32.tflite", kept(model));
        assertEquals("other-fp32.tflite", kept(named("other")));
        byte[] again = ModelFiles.small().change(ModelFiles.INFO, "1234", "123456").bytes();
        assertEquals("small-fp32.tflite", kept(again));
        List<StoredModel> models = store.list();
        assertEquals("[other-fp32.tflite, small-fp32.tflite]", names(models).toString());
        assertEquals(again.length, models.get(1).bytes);
        assertEquals("small", models.get(1).facts.name);
        assertEquals(123456, models.get(1).facts.parameters);
    }

    @Test
    public void theModelBeforeStaysUntilTheNewOneIsGood() throws IOException {
        StoredModel old = stored(model);
        String sha256 = old.sha256(); // of the file as it is now
        store.settle(stored(changed("1")), false);
        assertEquals(sha256, only().sha256());
        assertEquals(old.version, only().version);
        StoredModel first = stored(changed("1"));
        StoredModel second = stored(changed("2")); // before the first was loaded
        store.settle(first, true); // too late to count
        store.settle(second, false);
        assertEquals(sha256, only().sha256());
        StoredModel good = stored(changed("1"));
        store.settle(good, true);
        store.settle(good, false); // loaded before, so nothing is left to bring back
        assertEquals(good.version, only().version);
        assertEquals("[small-fp32.tflite]", Arrays.toString(internal.list()));
    }

    @Test
    public void aModelThatWasNotLoadedWhenTheAppEndedIsTakenBackAtTheNextStart() throws IOException {
        StoredModel old = stored(model);
        String sha256 = old.sha256(); // of the file as it is now
        stored(changed("1"));
        store = new ModelStore(internal, Arrays.asList(external));
        assertEquals(sha256, only().sha256());
        StoredModel deleted = stored(changed("1"));
        store.delete(deleted);
        assertNothingLeft();
    }

    private static byte[] changed(String parameters) {
        return ModelFiles.small().change(ModelFiles.INFO, "1234", parameters).bytes();
    }

    private StoredModel stored(byte[] content) throws IOException {
        return store.keep(store.receive(new ByteArrayInputStream(content), QUIET));
    }

    private StoredModel only() {
        List<StoredModel> models = store.list();
        assertEquals(1, models.size());
        return models.get(0);
    }

    @Test
    public void aNameBecomesAFileNameThatNoFileSystemOrShellMinds() throws IOException {
        assertEquals("etc_passwd-fp32-f0858a80.tflite", kept(named("/etc/passwd")));
        assertEquals("up-fp32-635a855f.tflite", kept(named("../../up")));
        assertEquals("my_model_rm_-rf_HOME-fp32-e400b88d.tflite", kept(named("../my model; rm -rf $HOME")));
        assertEquals("fp32-0b994260.tflite", kept(named("\ud83d\ude00")));
        assertEquals("hidden-fp32-bc3ffa45.tflite", kept(named(".hidden")));
        assertEquals("student-fp32-a53a8e16.tflite", kept(named("\u043e\u043f\u044b\u0442-student")));
        assertEquals("plain-student-fp32.tflite", kept(named("plain-student")));
        assertEquals(7, store.list().size());
    }

    @Test
    public void pushedFilesWaitAndAreNoModelsYet() throws IOException {
        for (String name : new String[] {"b.tflite", "a.tflite", "b.tflite.part", "notes.txt", "tflite"}) {
            ModelFiles.write(new File(external, name), model);
        }
        assertTrue(new File(external, "folder.tflite").mkdir());
        assertEquals(Arrays.asList(new File(external, "a.tflite"), new File(external, "b.tflite")), store.pushed());
        assertTrue(store.list().isEmpty());
        assertTrue(new ModelStore(internal, Arrays.asList(null, new File(external, "none"))).pushed().isEmpty());
    }

    @Test
    public void aDeletedModelIsGone() throws IOException {
        kept(model);
        StoredModel stored = store.list().get(0);
        store.delete(stored);
        assertNothingLeft();
        store.delete(stored); // already gone, so this succeeds
    }

    @Test
    public void anUnchangedFileIsNotOpenedAgain() throws IOException {
        kept(model);
        StoredModel before = store.list().get(0);
        assertSame(before, store.list().get(0));
        kept(ModelFiles.small().change(ModelFiles.INFO, "1234", "123456").bytes());
        assertEquals(123456, store.list().get(0).facts.parameters);
    }

    @Test
    public void aStreamThatNeverEndsDoesNotFillThePhone() {
        File full =
                new File(internal.getPath()) {
                    private static final long serialVersionUID = 1;

                    @Override
                    public long getUsableSpace() {
                        return 200 * 1000 * 1000 + 5000000;
                    }
                };
        InputStream endless =
                new InputStream() {
                    private int at;

                    @Override
                    public int read() {
                        return "0000TFL3".charAt(at++ % 8);
                    }
                };
        ModelStore small = new ModelStore(full, Collections.<File>emptyList());
        long[] copied = {0};
        IOException error = assertThrows(IOException.class, () -> small.receive(endless, bytes -> copied[0] = bytes));
        assertTrue(error.getMessage(), error.getMessage().contains("200 MB"));
        assertTrue("" + copied[0], copied[0] > 4900000 && copied[0] <= 5000000);
        assertNothingLeft();
    }

    @Test
    public void aFileWithoutAPackageIsListedWithoutFacts() throws IOException {
        kept(model);
        ModelFiles.write(new File(internal, "broken.tflite"), new byte[100]);
        assertEquals("[broken.tflite, small-fp32.tflite]", names(store.list()).toString());
        assertNull(store.list().get(0).facts);
    }

    @Test
    public void theHashIsThatOfTheWholeFile() throws IOException {
        File abc = ModelFiles.write(new File(external, "abc.tflite"), "abc".getBytes(Charset.forName("UTF-8")));
        String known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-4, appendix
        assertEquals(known, new StoredModel(abc).sha256());
        File large = ModelFiles.write(new File(external, "large.tflite"), new byte[200000]);
        assertNotEquals(known, new StoredModel(large).sha256());
    }

    @Test
    public void whatIsNoModelLeavesNothing() throws IOException {
        byte[] damaged = model.clone();
        damaged[20] ^= 1;
        for (byte[] file : new byte[][] {{}, {1}, new byte[1000000], Arrays.copyOf(model, model.length - 1), damaged}) {
            assertThrows(ModelFileException.class, () -> store.receive(new ByteArrayInputStream(file), QUIET));
            assertNothingLeft();
        }
    }

    @Test
    public void aFilmIsNotCopiedToItsEnd() throws IOException {
        for (int atOnce : new int[] {1, 7, 1 << 16}) {
            int[] asked = {0};
            InputStream film =
                    new InputStream() {
                        @Override
                        public int read() {
                            throw new AssertionError("byte by byte");
                        }

                        @Override
                        public int read(byte[] block) {
                            return ++asked[0] > 100 ? -1 : Math.min(atOnce, block.length);
                        }
                    };
            String message = assertThrows(ModelFileException.class, () -> store.receive(film, QUIET)).getMessage();
            assertTrue(message, message.contains("not a TFLite model"));
            assertTrue("" + asked[0], asked[0] <= 8);
            assertNothingLeft();
        }
    }

    @Test
    public void aStreamThatComesInSmallPiecesIsWhole() throws IOException {
        InputStream slow =
                new ByteArrayInputStream(model) {
                    @Override
                    public synchronized int read(byte[] block, int at, int n) {
                        return super.read(block, at, Math.min(n, 3));
                    }
                };
        assertEquals("small-fp32.tflite", store.keep(store.receive(slow, QUIET)).name);
    }

    @Test
    public void aStreamThatFailsHalfWayLeavesNothing() throws IOException {
        InputStream failing =
                new ByteArrayInputStream(model) {
                    @Override
                    public int read(byte[] block) throws IOException {
                        if (pos > model.length / 2) {
                            throw new IOException("the card was taken out");
                        }
                        return super.read(block, 0, 100);
                    }
                };
        IOException error = assertThrows(IOException.class, () -> store.receive(failing, QUIET));
        assertEquals("The file cannot be read (the card was taken out). Choose it again.", error.getMessage());
        assertNothingLeft();
    }

    @Test
    public void cancellingLeavesNothing() throws IOException {
        CopyProgress cancel =
                bytes -> {
                    throw new CancellationException();
                };
        assertThrows(CancellationException.class, () -> store.receive(new ByteArrayInputStream(model), cancel));
        assertNothingLeft();
    }

    @Test
    public void aFolderThatCannotBeMadeIsNamed() throws IOException {
        File blocked = new File(folder.newFile("file"), "models");
        ModelStore nowhere = new ModelStore(blocked, Arrays.<File>asList());
        assertTrue(nowhere.list().isEmpty());
        InputStream in = new ByteArrayInputStream(model);
        String message = assertThrows(IOException.class, () -> nowhere.receive(in, QUIET)).getMessage();
        assertTrue(message, message.contains("folder for models cannot be made"));
    }

    @Test
    public void aDiscardedFileIsGone() throws IOException {
        File received = store.receive(new ByteArrayInputStream(model), QUIET);
        store.discard(received);
        assertNothingLeft();
        store.discard(received); // deleting twice is allowed
    }

    @Test
    public void theCopyOfAKilledProcessIsRemovedAtTheNextStart() throws IOException {
        kept(model);
        File left = store.receive(new ByteArrayInputStream(model), QUIET);
        assertTrue(left.exists());
        ModelFiles.write(new File(external, "mine.unfinished"), new byte[1]);
        ModelStore next = new ModelStore(internal, Arrays.asList(external));
        assertFalse(left.exists());
        assertTrue(new File(external, "mine.unfinished").exists()); // not the app's
        assertEquals(1, next.list().size());
    }

    private static byte[] named(String name) {
        return ModelFiles.small().change(ModelFiles.INFO, "\"small\"", '"' + name + '"').bytes();
    }

    private String kept(byte[] content) throws IOException {
        StoredModel kept = stored(content);
        assertEquals(internal, kept.file.getParentFile());
        assertTrue(kept.file.isFile());
        assertEquals(kept.name, kept.file.getName());
        return kept.name;
    }

    private static List<String> names(List<StoredModel> models) {
        List<String> names = new ArrayList<>();
        for (StoredModel model : models) {
            names.add(model.name);
        }
        return names;
    }

    private void assertNothingLeft() {
        assertEquals("[]", Arrays.toString(internal.list()));
    }
}
