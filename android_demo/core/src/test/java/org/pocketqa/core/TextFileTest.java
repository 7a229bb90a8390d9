package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import java.util.Arrays;
import org.junit.Test;

public class TextFileTest {
    private static final String TEXT = "Z\u00fcrich, \u6771\u4eac, \ud83d\ude00\r\n\ttwo";

    @Test
    public void readsUtf8WithAndWithoutAMark() throws IOException {
        assertEquals(TEXT, read(encoded(TEXT, "UTF-8")));
        assertEquals(TEXT, read(marked(TEXT, "UTF-8", 0xEF, 0xBB, 0xBF)));
        assertEquals("", read(new byte[0]));
        assertEquals("", read(marked("", "UTF-8", 0xEF, 0xBB, 0xBF)));
        assertEquals("a", read(new byte[] {'a'}));
        assertEquals("a\ufeffb", read(encoded("a\ufeffb", "UTF-8"))); // a mark at its start only
    }

    @Test
    public void readsUtf16WithAMark() throws IOException {
        assertEquals(TEXT, read(marked(TEXT, "UTF-16LE", 0xFF, 0xFE)));
        assertEquals(TEXT, read(marked(TEXT, "UTF-16BE", 0xFE, 0xFF)));
        assertEquals("", read(marked("", "UTF-16LE", 0xFF, 0xFE)));
    }

    @Test
    public void readsAStreamThatComesInPieces() throws IOException {
        StringBuilder book = new StringBuilder();
        for (int i = 0; i < 20000; i++) {
            book.append("\u00e9\u6771 ");
        }
        InputStream slow =
                new ByteArrayInputStream(encoded(book.toString(), "UTF-8")) {
                    @Override
                    public synchronized int read(byte[] block, int at, int n) {
                        return super.read(block, at, Math.min(n, 1000)); // splits characters
                    }
                };
        assertEquals(book.toString(), TextFile.read(slow, 1000000));
    }

    @Test
    public void whatIsNoTextIsRefused() {
        refused("not UTF-8 text", encoded("Z\u00fcrich", "ISO-8859-1"));
        refused("not UTF-8 text", new byte[] {(byte) 0x89, 'P', 'N', 'G', 13, 10, 26, 10});
        refused("not UTF-8 text", new byte[] {'a', (byte) 0xE2, (byte) 0x82}); // cut inside a character
        refused("not UTF-8 text", new byte[] {(byte) 0xED, (byte) 0xA0, (byte) 0x80}); // an unpaired surrogate
        refused("not UTF-16LE text", new byte[] {(byte) 0xFF, (byte) 0xFE, 'a', 0, 'b'});
        refused("not UTF-16BE text", new byte[] {(byte) 0xFE, (byte) 0xFF, (byte) 0xD8, 0x3D, 0, 'a'});
        refused("not UTF-8 text", new byte[] {(byte) 0xFF});
    }

    @Test
    public void zeroBytesAreNoText() {
        refused("contains zero bytes", new byte[] {'T', 'F', 'L', '3', 0, 0, 0, 0});
        refused("contains zero bytes", encoded("UTF-16 without a mark", "UTF-16LE"));
        refused("contains zero bytes", marked("\u0000", "UTF-16LE", 0xFF, 0xFE)); // UTF-32 begins like this
    }

    @Test
    public void aWebPageIsNoText() throws IOException {
        refused("is a web page", encoded("\n<!DOCTYPE html><p>Rent", "UTF-8"));
        refused("is a web page", encoded("<?xml version='1.0'?><html>", "UTF-8"));
        assertEquals("a <html> tag", read(encoded("a <html> tag", "UTF-8")));
    }

    @Test
    public void theLongestTextIsReadAndNoLongerOne() throws IOException {
        byte[] two = new byte[2000000];
        Arrays.fill(two, (byte) 'a');
        assertEquals(2000000, TextFile.read(new ByteArrayInputStream(two), 2000000).length());
        InputStream in = new ByteArrayInputStream(two);
        String message = assertThrows(TextFileException.class, () -> TextFile.read(in, 1999999)).getMessage();
        assertTrue(message, message.contains("longer than"));
        message = assertThrows(TextFileException.class, () -> TextFile.read(endless(), 3000000)).getMessage();
        assertEquals("The text is longer than 3 MB. Choose a shorter one.", message);
    }

    @Test
    public void aStreamThatFailsIsNoTextFault() {
        InputStream failing =
                new InputStream() {
                    @Override
                    public int read() throws IOException {
                        throw new IOException("the card was taken out");
                    }
                };
        assertEquals("the card was taken out", assertThrows(IOException.class, () -> TextFile.read(failing, 1000)).getMessage());
    }

    @Test
    public void aWebPageIsKnownByItsNameToo() throws IOException {
        byte[] part = encoded("<h1>Lease</h1>", "UTF-8");
        for (String name : new String[] {"lease.html", "lease.HTM", "lease.xhtml"}) {
            assertThrows(name, TextFileException.class, () -> TextFile.read(new ByteArrayInputStream(part), 100, name));
        }
        assertEquals("<h1>Lease</h1>", TextFile.read(new ByteArrayInputStream(part), 100, "html.txt"));
    }

    private static InputStream endless() {
        return new InputStream() {
            @Override
            public int read() {
                return 'a';
            }
        };
    }

    private static void refused(String words, byte[] bytes) {
        String message = assertThrows(words, TextFileException.class, () -> read(bytes)).getMessage();
        assertTrue(message, message.contains(words) && message.endsWith("Save it as plain text in UTF-8."));
    }

    private static String read(byte[] bytes) throws IOException {
        return TextFile.read(new ByteArrayInputStream(bytes), 1000000);
    }

    private static byte[] encoded(String text, String charset) {
        return text.getBytes(Charset.forName(charset));
    }

    private static byte[] marked(String text, String charset, int... mark) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int b : mark) {
            out.write(b);
        }
        byte[] bytes = encoded(text, charset);
        out.write(bytes, 0, bytes.length);
        return out.toByteArray();
    }
}
