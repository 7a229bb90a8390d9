package org.pocketqa.core;

import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Reads the zip at the end of a file and checks every size in it (APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12, 4.3.16).
 *
 * java.util.zip.ZipFile loads the complete directory, checks no CRC, and differs between versions of Android.
 */
final class ZipTail {
    private static final int END_SIGNATURE = 0x06054b50;
    private static final int END_BYTES = 22;
    private static final int ENTRY_SIGNATURE = 0x02014b50;
    private static final int ENTRY_BYTES = 46;
    private static final int LOCAL_SIGNATURE = 0x04034b50;
    private static final int LOCAL_BYTES = 30;
    private static final int MOST_DIRECTORY_BYTES = 1 << 16;
    private static final int STORED = 0;
    private static final int DEFLATED = 8;
    private static final Charset UTF_8 = Charset.forName("UTF-8");

    private final RandomAccessFile file;
    private final long directoryAt;
    private final Map<String, ByteBuffer> entries = new HashMap<String, ByteBuffer>();

    /** Reads the directory. Throws ModelFileException if it is missing or damaged. */
    ZipTail(RandomAccessFile file) throws IOException {
        this.file = file;
        long endAt = Math.max(0, file.length() - END_BYTES);
        ByteBuffer end = bytes(endAt, (int) (file.length() - endAt));
        boolean isEnd = end.limit() == END_BYTES && end.getInt(0) == END_SIGNATURE && end.getShort(20) == 0; // no comment
        if (!isEnd) {
            throw new ModelFileException(
                    "The file has no package at its end: it was cut off while it was copied, "
                            + "or python -m export.tflite did not make it. Copy it again.");
        }
        int count = end.getShort(10) & 0xFFFF;
        long directoryBytes = end.getInt(12) & 0xFFFFFFFFL;
        directoryAt = end.getInt(16) & 0xFFFFFFFFL;
        if (directoryBytes > MOST_DIRECTORY_BYTES || directoryAt + directoryBytes != endAt) {
            throw damaged("its directory does not fit");
        }
        readDirectory(bytes(directoryAt, (int) directoryBytes), count);
    }

    private void readDirectory(ByteBuffer directory, int count) throws ModelFileException {
        int at = 0;
        for (int i = 0; i < count; i++) {
            if (at + ENTRY_BYTES > directory.limit() || directory.getInt(at) != ENTRY_SIGNATURE) {
                throw damaged("its directory is cut off");
            }
            int nameBytes = directory.getShort(at + 28) & 0xFFFF;
            int extraBytes = directory.getShort(at + 30) & 0xFFFF;
            int commentBytes = directory.getShort(at + 32) & 0xFFFF;
            int next = at + ENTRY_BYTES + nameBytes + extraBytes + commentBytes;
            if (next > directory.limit()) {
                throw damaged("its directory is cut off");
            }
            String name = new String(directory.array(), at + ENTRY_BYTES, nameBytes, UTF_8);
            ByteBuffer entry = ByteBuffer.wrap(directory.array(), at, ENTRY_BYTES).slice().order(ByteOrder.LITTLE_ENDIAN);
            if (entries.put(name, entry) != null) {
                throw damaged(Fields.shown(name) + " appears twice");
            }
            at = next;
        }
    }

    /** Returns where the first member begins: the model must end there. */
    long begin() {
        long begin = directoryAt;
        for (ByteBuffer entry : entries.values()) {
            begin = Math.min(begin, entry.getInt(42) & 0xFFFFFFFFL);
        }
        return begin;
    }

    /** Reads a member as text. Throws ModelFileException if it is missing, damaged, or larger than `mostBytes`. */
    String text(String name, int mostBytes) throws IOException {
        ByteBuffer entry = entries.get(name);
        if (entry == null) {
            throw new ModelFileException("The package at the end of the file has no " + name + ". Export the model again.");
        }
        int flags = entry.getShort(8);
        int method = entry.getShort(10);
        long packed = entry.getInt(20) & 0xFFFFFFFFL;
        long size = entry.getInt(24) & 0xFFFFFFFFL;
        long localAt = entry.getInt(42) & 0xFFFFFFFFL;
        if (size > mostBytes) {
            throw damaged(name + " claims " + size + " bytes, at most " + mostBytes + " are read");
        }
        if ((flags & 1) != 0 || (method != STORED && method != DEFLATED) || (method == STORED && packed != size)) {
            throw damaged(name + " uses an unsupported compression method");
        }
        // zlib adds at most 5 bytes for each 16 KB. Empty blocks could add any number, and all of them would be read.
        if (packed > size + size / 1000 + 64 || localAt + LOCAL_BYTES > directoryAt) {
            throw damaged(name + " does not fit");
        }
        ByteBuffer local = bytes(localAt, LOCAL_BYTES);
        long dataAt = localAt + LOCAL_BYTES + (local.getShort(26) & 0xFFFF) + (local.getShort(28) & 0xFFFF);
        if (local.getInt(0) != LOCAL_SIGNATURE || dataAt + packed > directoryAt) {
            throw damaged(name + " does not fit");
        }
        byte[] data = bytes(dataAt, (int) packed).array();
        byte[] content = method == STORED ? data : inflate(name, data, (int) size);
        CRC32 crc = new CRC32();
        crc.update(content);
        if ((int) crc.getValue() != entry.getInt(16)) {
            throw damaged("the checksum of " + name + " differs");
        }
        try { // a new decoder reports malformed bytes instead of replacing them
            return UTF_8.newDecoder().decode(ByteBuffer.wrap(content)).toString();
        } catch (CharacterCodingException error) {
            throw damaged(name + " is not UTF-8 text");
        }
    }

    private static byte[] inflate(String name, byte[] data, int size) throws ModelFileException {
        Inflater inflater = new Inflater(true);
        try {
            byte[] content = new byte[size];
            inflater.setInput(data);
            int n = 0;
            while (n < size) {
                int more = inflater.inflate(content, n, size - n);
                if (more == 0) {
                    break; // ended too early, or needs more bytes
                }
                n += more;
            }
            boolean whole = n == size && (inflater.finished() || (inflater.inflate(new byte[1]) == 0 && inflater.finished()));
            if (!whole || inflater.getRemaining() > 0) {
                throw damaged(name + " does not have the length in the directory");
            }
            return content;
        } catch (DataFormatException error) {
            throw damaged(name + " cannot be unpacked");
        } finally {
            inflater.end();
        }
    }

    private ByteBuffer bytes(long at, int n) throws IOException {
        byte[] buffer = new byte[n];
        file.seek(at);
        try {
            file.readFully(buffer);
        } catch (EOFException error) {
            throw damaged("it is cut off");
        }
        return ByteBuffer.wrap(buffer).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static ModelFileException damaged(String how) {
        return new ModelFileException("The package at the end of the file is damaged (" + how + "). Copy the file again.");
    }
}
