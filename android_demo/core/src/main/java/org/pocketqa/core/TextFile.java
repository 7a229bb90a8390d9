package org.pocketqa.core;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.util.regex.Pattern;

/** Reads text from a file: UTF-8, or UTF-16 with a byte order mark. */
public final class TextFile {
    private static final int BLOCK = 1 << 14;
    private static final Pattern HTML_START =
            Pattern.compile("\\s*(<\\?xml[^>]*>\\s*)?(<!doctype html|<html)", Pattern.CASE_INSENSITIVE);

    private static final Pattern ISO_2022 = Pattern.compile("\\x1b(\\$|\\([IJ])");
    private static final Pattern HTML_NAME = Pattern.compile("\\.x?html?$", Pattern.CASE_INSENSITIVE);

    private TextFile() {}

    /** Reads a complete file of this name. Throws TextFileException if it is longer than `mostBytes`, not text or a web page. */
    public static String read(InputStream in, int mostBytes, String name) throws IOException {
        if (HTML_NAME.matcher(name).find()) {
            throw webPage();
        }
        return read(in, mostBytes);
    }

    /** Reads a complete stream. Throws TextFileException if it is longer than `mostBytes` or not text. */
    public static String read(InputStream in, int mostBytes) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] block = new byte[BLOCK];
        for (int n = in.read(block); n >= 0; n = in.read(block)) {
            if (out.size() + n > mostBytes) {
                throw new TextFileException("The text is longer than " + mostBytes / 1000000 + " MB. Choose a shorter one.");
            }
            out.write(block, 0, n);
        }
        return decode(out.toByteArray());
    }

    private static String decode(byte[] bytes) throws TextFileException {
        int first = bytes.length > 0 ? bytes[0] & 0xFF : -1;
        int second = bytes.length > 1 ? bytes[1] & 0xFF : -1;
        int third = bytes.length > 2 ? bytes[2] & 0xFF : -1;
        String charset = first == 0xFF && second == 0xFE ? "UTF-16LE" : first == 0xFE && second == 0xFF ? "UTF-16BE" : "UTF-8";
        int mark = charset.equals("UTF-8") ? (first == 0xEF && second == 0xBB && third == 0xBF ? 3 : 0) : 2;
        String text;
        try { // a new decoder reports malformed bytes instead of replacing them
            ByteBuffer content = ByteBuffer.wrap(bytes, mark, bytes.length - mark);
            text = Charset.forName(charset).newDecoder().decode(content).toString();
        } catch (CharacterCodingException error) {
            throw new TextFileException("The file is not " + charset + " text. Save it as plain text in UTF-8.");
        }
        if (ISO_2022.matcher(text).find()) { // such as ISO-2022-JP, which consists of ASCII
            throw new TextFileException("The file is ISO-2022 text. Save it as plain text in UTF-8.");
        }
        if (text.indexOf('\0') >= 0) {
            throw new TextFileException("The file contains zero bytes, so it is not plain text. Save it as plain text in UTF-8.");
        }
        if (HTML_START.matcher(text).lookingAt()) {
            throw webPage();
        }
        return text;
    }

    private static TextFileException webPage() {
        return new TextFileException("The file is a web page. A browser can share the text that you select there. Save it as plain text in UTF-8.");
    }
}
