package org.pocketqa.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Arrays;
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
        internal = new File(folder.getRoot(), "internal/models"); // made when it is needed
        external = folder.newFolder("external");
        store = new ModelStore(internal, external);
    }

    @Test
    public void aModelIsCopiedAndKeptUnderItsName() throws IOException {
        List<Long> progress = new ArrayList<>();
        File received = store.receive(new ByteArrayInputStream(model), progress::add);
        assertEquals(internal, received.getParentFile());
        assertTrue(store.list().isEmpty());
        assertEquals(Long.valueOf(model.length), progress.get(progress.size() - 1));
        StoredModel kept = store.keep(received, "student.tflite");
        assertEquals("student.tflite", kept.name);
        assertFalse(kept.external);
        assertFalse(received.exists());
        try (FileInputStream in = new FileInputStream(kept.file)) {
            byte[] stored = new byte[model.length];
            assertEquals(model.length, in.read(stored));
            assertArrayEquals(model, stored);
            assertEquals(-1, in.read());
        }
        assertEquals("small", ModelPackage.read(kept.file).name);
        assertEquals("[internal/models/student.tflite]", listed().toString());
    }

    @Test
    public void aTakenNameGetsANumber() throws IOException {
        assertEquals("a.tflite", kept("a.tflite"));
        assertEquals("a (2).tflite", kept("a.tflite"));
        assertEquals("a (3).tflite", kept("a"));
        assertTrue(new File(internal, "b.tflite").mkdir());
        assertEquals("b (2).tflite", kept("b.tflite"));
        assertEquals(4, store.list().size());
    }

    @Test
    public void aDisplayNameBecomesAFileName() throws IOException {
        assertEquals("model.tflite", kept(null));
        assertEquals("model (2).tflite", kept(""));
        assertEquals("model (3).tflite", kept("   "));
        assertEquals("model (4).tflite", kept(".tflite"));
        assertEquals("model (5).tflite", kept("...."));
        assertEquals("x.bin.tflite", kept("x.bin"));
        assertEquals("My Model.tflite", kept(" My Model.TFLite "));
        assertEquals("_etc_passwd.tflite", kept("/etc/passwd"));
        assertEquals("_.._up.tflite", kept("../../up.tflite"));
        assertEquals("c__x.tflite", kept("c:\\x.tflite"));
        assertEquals("hidden.tflite", kept(".hidden.tflite"));
        assertEquals("a_b_c_d_e.tflite", kept("a\u0000b\nc\u007fd\u0085e.tflite"));
        assertEquals("__ \u6771\u4eac \u00e9.tflite", kept("\ud83d\ude00 \u6771\u4eac \u00e9.tflite"));
        assertEquals("_.tflite", kept("\ud83d"));
        assertEquals(14, store.list().size()); // hidden or elsewhere, they would be missing
    }

    @Test
    public void aLongNameIsCutSoThatTheFileSystemTakesIt() throws IOException {
        assertEquals(repeated("\u6771", 80) + ".tflite", kept(repeated("\u6771", 300) + ".tflite"));
        assertEquals(repeated("\u6771", 80) + " (2).tflite", kept(repeated("\u6771", 300)));
        assertEquals(repeated("a", 80) + ".tflite", kept(repeated("a", 80) + ".tflite"));
        assertEquals(repeated("b", 76) + ".tflite", kept(repeated("b", 76) + ".tflite"));
        assertEquals(repeated("c", 79) + ".tflite", kept(repeated("c", 79) + " c.tflite"));
    }

    @Test
    public void anyOddNameGivesAFileThatIsListed() throws IOException {
        int n = 0;
        String[] names = {"CON", "a.", "a..", "~", "-rf", "%00", "\u202egnp", "\ufeff", "\ud800\udfff\udfff", "'", "$(x)"};
        for (String name : names) {
            String kept = kept(name);
            assertTrue(kept, kept.endsWith(".tflite") && !kept.startsWith(".") && kept.indexOf('/') < 0);
            assertEquals(++n, store.list().size());
        }
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
        assertEquals("a.tflite", store.keep(store.receive(slow, QUIET), "a").name);
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
        ModelStore nowhere = new ModelStore(blocked, null);
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
        store.discard(received); // twice is no harm
    }

    @Test
    public void theCopyOfAKilledProcessIsRemovedAtTheNextStart() throws IOException {
        kept("a.tflite");
        File left = store.receive(new ByteArrayInputStream(model), QUIET);
        assertTrue(left.exists());
        ModelFiles.write(new File(external, "mine.unfinished"), new byte[1]);
        ModelStore next = new ModelStore(internal, external);
        assertFalse(left.exists());
        assertTrue(new File(external, "mine.unfinished").exists()); // not the app's
        assertEquals(1, next.list().size());
    }

    @Test
    public void pushedFilesAreListedAmongTheOthersByName() throws IOException {
        kept("b.tflite");
        kept("D.tflite");
        for (String name : new String[] {"a.tflite", "C.tflite", "b.tflite", "notes.txt", "tflite"}) {
            ModelFiles.write(new File(external, name), model);
        }
        assertTrue(new File(external, "folder.tflite").mkdir());
        assertEquals(
                "[external/a.tflite, external/b.tflite, internal/models/b.tflite, external/C.tflite, internal/models/D.tflite]",
                listed().toString());
        for (StoredModel stored : store.list()) {
            assertEquals(stored.file.getParentFile().equals(external), stored.external);
        }
    }

    @Test
    public void aPhoneMayHaveNoSharedFolder() throws IOException {
        assertTrue(new ModelStore(internal, null).list().isEmpty());
        kept("a.tflite");
        assertEquals(1, new ModelStore(internal, null).list().size());
        assertEquals(1, new ModelStore(internal, new File(folder.getRoot(), "missing")).list().size());
    }

    @Test
    public void aCopiedModelCanBeDeletedAPushedOneCannot() throws IOException {
        kept("a.tflite");
        ModelFiles.write(new File(external, "b.tflite"), model);
        StoredModel copied = store.list().get(0);
        StoredModel pushed = store.list().get(1);
        store.delete(copied);
        assertEquals("[external/b.tflite]", listed().toString());
        store.delete(copied); // gone already, which is what was asked for
        String message = assertThrows(IOException.class, () -> store.delete(pushed)).getMessage();
        assertTrue(message, message.contains("b.tflite was not copied by this app"));
        assertEquals("[external/b.tflite]", listed().toString());
    }

    @Test
    public void theHashIsThatOfTheWholeFile() throws IOException {
        File abc = ModelFiles.write(new File(external, "abc.tflite"), "abc".getBytes(Charset.forName("UTF-8")));
        String known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-4, appendix
        assertEquals(known, new StoredModel(abc, true).sha256());
        File large = ModelFiles.write(new File(external, "large.tflite"), new byte[200000]);
        assertNotEquals(known, new StoredModel(large, true).sha256());
        String empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assertEquals(empty, new StoredModel(ModelFiles.write(abc, new byte[0]), true).sha256());
    }

    private String kept(String displayName) throws IOException {
        StoredModel kept = store.keep(store.receive(new ByteArrayInputStream(model), QUIET), displayName);
        assertEquals(internal, kept.file.getParentFile());
        assertTrue(kept.file.isFile());
        assertEquals(kept.name, kept.file.getName());
        return kept.name;
    }

    private List<String> listed() {
        List<String> paths = new ArrayList<>();
        for (StoredModel stored : store.list()) {
            paths.add(stored.file.getPath().substring(folder.getRoot().getPath().length() + 1));
        }
        return paths;
    }

    private void assertNothingLeft() {
        assertEquals("[]", Arrays.toString(internal.list()));
    }

    private static String repeated(String text, int times) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < times; i++) {
            out.append(text);
        }
        return out.toString();
    }

    @Test
    public void aPushedModelIsUsedFromACopyThatAPushCannotChange() throws IOException {
        File pushed = new File(external, "pushed.tflite");
        ModelFiles.write(pushed, model);
        StoredModel stored = store.list().get(0);
        File copy = store.unchanging(stored);
        assertEquals(internal, copy.getParentFile());
        ModelFiles.write(pushed, new byte[] {1, 2, 3});
        assertEquals("small", ModelPackage.read(copy).name);
        assertEquals(1, store.list().size()); // the copy is no model of its own
        assertNotEquals(stored.version, store.list().get(0).version);
        assertThrows(ModelFileException.class, () -> store.unchanging(store.list().get(0)));
        store.discard(copy);
        assertEquals(0, internal.list().length);
    }

    @Test
    public void aCopiedModelIsUsedAsItLies() throws IOException {
        StoredModel kept = store.keep(store.receive(new ByteArrayInputStream(model), QUIET), "own");
        assertEquals(kept.file, store.unchanging(kept));
        assertEquals(kept.version, store.list().get(0).version);
    }
}
