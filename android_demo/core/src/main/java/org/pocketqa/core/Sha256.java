package org.pocketqa.core;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** SHA-256, as `sha256sum` prints it. */
final class Sha256 {
    private static final int BLOCK = 1 << 16;

    private Sha256() {}

    static MessageDigest digest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException error) {
            throw new AssertionError(error); // all versions of Java and Android have SHA-256
        }
    }

    /** Returns the SHA-256 of a stream up to its end. */
    static String of(InputStream in) throws IOException {
        MessageDigest digest = digest();
        byte[] block = new byte[BLOCK];
        for (int n = in.read(block); n >= 0; n = in.read(block)) {
            digest.update(block, 0, n);
        }
        return hexadecimal(digest.digest());
    }

    /** Returns the SHA-256 of a file's first `bytes` bytes. */
    static String of(RandomAccessFile file, long bytes) throws IOException {
        MessageDigest digest = digest();
        byte[] block = new byte[BLOCK];
        file.seek(0);
        for (long left = bytes; left > 0; ) {
            int n = file.read(block, 0, (int) Math.min(left, block.length));
            if (n < 0) {
                throw new EOFException("the file became shorter while it was read");
            }
            digest.update(block, 0, n);
            left -= n;
        }
        return hexadecimal(digest.digest());
    }

    private static String hexadecimal(byte[] bytes) {
        StringBuilder out = new StringBuilder();
        for (byte b : bytes) {
            out.append(Character.forDigit((b >> 4) & 15, 16)).append(Character.forDigit(b & 15, 16));
        }
        return out.toString();
    }
}
