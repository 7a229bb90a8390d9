package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Offsets of fields in a directory entry: 8 flags, 10 method, 16 checksum, 20 packed size, 24 size, 42 local header. */
public class ZipTailTest {
    private static final long FOUR_GIB_LESS_ONE = 0xFFFFFFFFL;
    private static final int SPACIOUS = 1000000;
    private static final Charset UTF_8 = Charset.forName("UTF-8");

    @Rule public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void readsWhatItHolds() throws IOException {
        ModelFiles files = ModelFiles.small().put("empty.txt", "").put("\u00fc.txt", "na\u00efve \ud83d\ude00\n");
        byte[] file = files.bytes();
        assertEquals(files.text("qa.json"), text(file, "qa.json"));
        assertEquals("", text(file, "empty.txt"));
        assertEquals("na\u00efve \ud83d\ude00\n", text(file, "\u00fc.txt"));
    }

    @Test
    public void readsWhatAnotherProgramZipped() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(out)) { // sizes after the data; the local header lacks them
            for (String name : new String[] {"a.txt", "b.txt"}) {
                ZipEntry entry = new ZipEntry(name);
                entry.setExtra(new byte[] {1, 2, 4, 0, 5, 6, 7, 8});
                entry.setComment("a comment");
                zip.putNextEntry(entry);
                zip.write(("content of " + name).getBytes(UTF_8));
            }
        }
        assertEquals("content of a.txt", text(out.toByteArray(), "a.txt"));
        assertEquals("content of b.txt", text(out.toByteArray(), "b.txt"));
    }

    @Test
    public void whatDeflateMadeLongerIsReadToo() throws IOException {
        StringBuilder noise = new StringBuilder();
        Random random = new Random(1);
        for (int i = 0; i < 400000; i++) {
            noise.append((char) random.nextInt(128));
        }
        byte[] content = noise.toString().getBytes(UTF_8);
        byte[] file = ModelFiles.small().put("noise", storedBlocks(content)).store("noise").bytes();
        int entry = ModelFiles.entryOf(file, "noise");
        CRC32 crc = new CRC32();
        crc.update(content);
        ModelFiles.patch(file, entry + 10, 2, 8);
        ModelFiles.patch(file, entry + 16, 4, crc.getValue());
        ModelFiles.patch(file, entry + 24, 4, content.length);
        assertEquals(noise.toString(), text(file, "noise"));
    }

    @Test
    public void aCommentBehindThePackageIsRefused() {
        byte[] plain = ModelFiles.small().bytes();
        byte[] commented = Arrays.copyOf(plain, plain.length + 40);
        ModelFiles.patch(commented, plain.length - 2, 2, 40);
        refused("no package at its end", () -> text(commented, "probe.json"));
        refused("no package at its end", () -> text(ModelFiles.patch(plain, plain.length - 2, 2, 40), "probe.json"));
    }

    @Test
    public void theLimitIsTheLastSizeThatIsRead() throws IOException {
        byte[] file = ModelFiles.small().put("five", "12345").bytes();
        assertEquals("12345", text(file, "five", 5));
        refused("five claims 5 bytes, at most 4 are read", () -> text(file, "five", 4));
    }

    @Test
    public void aFileWithoutAPackageIsRefused() {
        refused("no package at its end", () -> text(new byte[0], "a"));
        refused("no package at its end", () -> text(new byte[1000], "a"));
        byte[] file = ModelFiles.small().bytes();
        refused("no package at its end", () -> text(Arrays.copyOf(file, file.length - 1), "a"));
        refused("no package at its end", () -> text(Arrays.copyOf(file, file.length + 1), "a"));
        refused("has no a.txt", () -> text(file, "a.txt"));
    }

    @Test
    public void aDirectoryThatIsElsewhereIsRefused() {
        int end = ModelFiles.endOf(ModelFiles.small().bytes());
        for (long value : new long[] {0, 1, end, end + 22, Integer.MAX_VALUE, 0x80000000L, FOUR_GIB_LESS_ONE}) {
            refused("directory does not fit", () -> text(ModelFiles.patch(ModelFiles.small().bytes(), end + 12, 4, value), "a"));
            refused("directory does not fit", () -> text(ModelFiles.patch(ModelFiles.small().bytes(), end + 16, 4, value), "a"));
        }
        byte[] wrapping = ModelFiles.patch(ModelFiles.small().bytes(), end + 12, 4, FOUR_GIB_LESS_ONE);
        refused("directory does not fit", () -> text(ModelFiles.patch(wrapping, end + 16, 4, end + 1), "a")); // end in 32 bits
    }

    @Test
    public void aDirectoryThatEndsTooSoonIsRefused() {
        byte[] file = ModelFiles.small().bytes();
        int end = ModelFiles.endOf(file);
        refused("directory is cut off", () -> text(ModelFiles.patch(file.clone(), end + 10, 2, 5), "a"));
        refused("directory is cut off", () -> text(ModelFiles.patch(file.clone(), end + 10, 2, 65535), "a"));
        int last = ModelFiles.entryOf(file, "probe.json");
        for (int length : new int[] {28, 30, 32}) { // of the name, of the extra field, of the comment
            refused("directory is cut off", () -> text(ModelFiles.patch(file.clone(), last + length, 2, 65535), "a"));
        }
    }

    @Test
    public void sizesOfFourGigabytesAreNotBelieved() {
        refused("claims 4294967295 bytes, at most", () -> text(patched(24, 4, FOUR_GIB_LESS_ONE), "vocab.txt"));
        refused("does not fit", () -> text(patched(20, 4, FOUR_GIB_LESS_ONE), "vocab.txt"));
        refused("does not fit", () -> text(patched(42, 4, FOUR_GIB_LESS_ONE), "vocab.txt"));
        byte[] stored = ModelFiles.patch(patched(10, 2, 0), entry() + 20, 4, FOUR_GIB_LESS_ONE);
        refused("unsupported compression", () -> text(stored, "vocab.txt"));
    }

    @Test
    public void aBombIsNotUnpacked() {
        byte[] zeros = new byte[20000000];
        byte[] bomb = ModelFiles.small().put("vocab.txt", zeros).bytes();
        assertTrue(bomb.length < 100000);
        refused("claims 20000000 bytes, at most", () -> text(bomb, "vocab.txt"));
        ModelFiles.patch(bomb, ModelFiles.entryOf(bomb, "vocab.txt") + 24, 4, 30000);
        refused("does not have the length in the directory", () -> text(bomb, "vocab.txt"));
    }

    @Test
    public void aSizeThatIsALieIsRefused() {
        int size = ModelFiles.small().text("vocab.txt").getBytes(UTF_8).length;
        for (int lie : new int[] {0, 1, size - 1, size + 1, SPACIOUS}) {
            byte[] file = patched(24, 4, lie);
            assertThrows("" + lie, ModelFileException.class, () -> text(file, "vocab.txt"));
        }
        refused("does not have the length in the directory", () -> text(patched(24, 4, size + 1), "vocab.txt"));
        refused("does not have the length in the directory", () -> text(patched(20, 4, 20), "vocab.txt"));
    }

    @Test
    public void whatIsEncryptedOrPackedAnotherWayIsRefused() {
        refused("uses an unsupported compression method", () -> text(patched(8, 2, 1), "vocab.txt"));
        for (int method : new int[] {0, 1, 9, 12, 93, 99, 65535}) {
            refused("uses an unsupported compression method", () -> text(patched(10, 2, method), "vocab.txt"));
        }
    }

    @Test
    public void otherContentThanTheChecksumsIsRefused() {
        refused("checksum of vocab.txt differs", () -> text(patched(16, 4, 12345), "vocab.txt"));
        byte[] file = ModelFiles.small().store("vocab.txt").bytes();
        int local = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getInt(ModelFiles.entryOf(file, "vocab.txt") + 42);
        file[local + 30 + "vocab.txt".length()] ^= 1;
        refused("checksum of vocab.txt differs", () -> text(file, "vocab.txt"));
    }

    @Test
    public void bytesThatAreNoUtf8AreRefused() {
        int[][] malformed = {{0xFF}, {0xC3}, {0xC3, 'a'}, {0xC0, 0x80}, {0xED, 0xA0, 0x80}, {0xF4, 0x90, 0x80, 0x80}};
        for (int[] values : malformed) {
            byte[] bytes = new byte[values.length];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) values[i];
            }
            refused("vocab.txt is not UTF-8 text", () -> text(ModelFiles.small().put("vocab.txt", bytes).bytes(), "vocab.txt"));
        }
    }

    @Test
    public void aMemberThatLiesOutsideIsRefused() {
        byte[] file = ModelFiles.small().bytes();
        int directory = ModelFiles.entryOf(file, "qa.json");
        for (long at : new long[] {directory, directory - 1, directory - 29, file.length, Integer.MAX_VALUE, 0x80000000L}) {
            refused("does not fit", () -> text(patched(42, 4, at), "vocab.txt"));
        }
        byte[] zeros = ModelFiles.small().model(new byte[300]).bytes();
        ModelFiles.patch(zeros, ModelFiles.entryOf(zeros, "vocab.txt") + 42, 4, 100); // no local header there
        refused("does not fit", () -> text(zeros, "vocab.txt"));
    }

    @Test
    public void moreBytesThanAnyPackerMakesAreNotRead() throws IOException {
        byte[] file = ModelFiles.small().put("tiny", "a").put("later", new byte[500]).store("later").bytes();
        int entry = ModelFiles.entryOf(file, "tiny");
        assertEquals("a", text(file, "tiny"));
        refused("tiny does not have the length", () -> text(ModelFiles.patch(file.clone(), entry + 20, 4, 65), "tiny"));
        refused("tiny does not fit", () -> text(ModelFiles.patch(file.clone(), entry + 20, 4, 66), "tiny"));
    }

    private static int entry() {
        return ModelFiles.entryOf(ModelFiles.small().bytes(), "vocab.txt");
    }

    private static byte[] patched(int field, int bytes, long value) {
        return ModelFiles.patch(ModelFiles.small().bytes(), entry() + field, bytes, value);
    }

    /** Returns bytes as uncompressed deflate blocks (RFC 1951, section 3.2.4) of 16 KB, as zlib makes them. */
    private static byte[] storedBlocks(byte[] content) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int at = 0; at < content.length; at += 16383) {
            int n = Math.min(16383, content.length - at);
            out.write(at + n == content.length ? 1 : 0);
            out.write(n);
            out.write(n >> 8);
            out.write(~n);
            out.write(~n >> 8);
            out.write(content, at, n);
        }
        return out.toByteArray();
    }

    private String text(byte[] file, String name) throws IOException {
        return text(file, name, SPACIOUS);
    }

    private String text(byte[] file, String name, int mostBytes) throws IOException {
        File path = ModelFiles.write(folder.newFile(), file);
        try (RandomAccessFile opened = new RandomAccessFile(path, "r")) {
            return new ZipTail(opened).text(name, mostBytes);
        }
    }

    private static void refused(String words, ThrowingRunnable reading) {
        String message = assertThrows(words, ModelFileException.class, reading).getMessage();
        assertTrue(message + " should say: " + words, message.contains(words));
    }

    @Test
    public void aDirectoryTooLargeIsNotRead() throws IOException {
        ModelFiles files = ModelFiles.small();
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < 30000; i++) {
            name.append('n');
        }
        byte[] fits = files.put(name + "1", "").bytes(); // one such name is unusual, but allowed
        assertEquals(files.text("vocab.txt"), text(fits, "vocab.txt"));
        byte[] tooLarge = files.put(name + "2", "").put(name + "3", "").bytes();
        refused("directory does not fit", () -> text(tooLarge, "vocab.txt"));
    }

    /** Returns a file with a local header whose extra field moves the data into the directory. */
    @Test
    public void aMemberThatReachesIntoTheDirectoryIsRefused() {
        byte[] file = ModelFiles.small().put("last", "some content, long enough").store("last").bytes();
        int entry = ModelFiles.entryOf(file, "last");
        int local = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getInt(entry + 42);
        refused("last does not fit", () -> text(ModelFiles.patch(file, local + 28, 2, 1), "last"));
    }
}
