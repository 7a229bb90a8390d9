package org.pocketqa.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.Random;
import org.junit.Test;

public class ParagraphsTest {
    @Test
    public void everyLineIsAPiece() {
        assertEquals("", shown("", 10));
        assertEquals("one line", shown("one line", 10));
        assertEquals("one\\n|two\\r\\n|three\\r|four", shown("one\ntwo\r\nthree\rfour", 10));
        assertEquals("one\\n|\\n|\\r\\n|\\r|\\r|two\\n", shown("one\n\n\r\n\r\rtwo\n", 10));
        assertEquals("\\n|\\r\\n", shown("\n\r\n", 10));
    }

    @Test
    public void aLongLineIsCutAfterItsLastSpaceThatFits() {
        assertEquals("one two |three |fours", shown("one two three fours", 10));
        assertEquals("one\ttwo\t|three", shown("one\ttwo\tthree", 9));
        assertEquals("0123456789", shown("0123456789", 10));
        assertEquals("0123456789|x y", shown("0123456789x y", 10));
        assertEquals(" |0123456789|01", shown(" 012345678901", 10));
        assertEquals("abcd\\n|efgh", shown("abcd\nefgh", 5));
    }

    @Test
    public void pairsStayTogether() {
        String face = "\ud83d\ude00";
        assertEquals(face + "|" + face + "|" + face, shown(face + face + face, 3));
        assertEquals(face + "|" + face, shown(face + face, 2));
        assertEquals("a" + face + "|b", shown("a" + face + "b", 3));
        assertEquals("abc|\\r\\n|d", shown("abc\r\nd", 4));
        assertEquals("\ud83d\ud83d|\ud83d", shown("\ud83d\ud83d\ud83d", 2)); // unpaired surrogates
    }

    @Test
    public void piecesCoverTheTextWhateverItIs() {
        String[] parts = {"a", "bc", " ", "  ", "\t", "\n", "\r", "\r\n", "\ud83d\ude00", "\ud83d", "\ude00", "\u2028", "\u00e9"};
        Random random = new Random(5);
        for (int round = 0; round < 20000; round++) {
            StringBuilder text = new StringBuilder();
            for (int n = random.nextInt(30); n > 0; n--) {
                text.append(parts[random.nextInt(parts.length)]);
            }
            check(text.toString(), 2 + random.nextInt(12));
        }
    }

    private static void check(String text, int longest) {
        int at = 0;
        for (int[] range : Paragraphs.split(text, longest)) {
            String where = Json.write(text) + " at " + at + ", longest " + longest;
            assertEquals(where, at, range[0]);
            assertTrue(where, range[1] > at && range[1] - at <= longest);
            at = range[1];
            if (at < text.length()) {
                char before = text.charAt(at - 1);
                char after = text.charAt(at);
                assertFalse(where, Character.isHighSurrogate(before) && Character.isLowSurrogate(after));
                assertFalse(where, before == '\r' && after == '\n');
            }
            String line = text.substring(range[0], at).replaceFirst("(\r\n|\r|\n)$", "");
            assertTrue(where, line.indexOf('\n') < 0 && line.indexOf('\r') < 0);
        }
        assertEquals(text.length(), at);
    }

    @Test
    public void aBookIsCutToo() {
        StringBuilder book = new StringBuilder();
        for (int i = 0; i < 300000; i++) {
            book.append("word").append(i % 50 == 49 ? '\n' : ' ');
        }
        List<int[]> ranges = Paragraphs.split(book.toString(), 2000);
        assertEquals(6000, ranges.size());
        assertEquals(20, Paragraphs.split(book.substring(0, 40000).replaceAll("\\s", "x"), 2000).size());
    }

    private static String shown(String text, int longest) {
        StringBuilder out = new StringBuilder();
        for (int[] range : Paragraphs.split(text, longest)) {
            out.append(out.length() == 0 ? "" : "|").append(text, range[0], range[1]);
        }
        return out.toString().replace("\r", "\\r").replace("\n", "\\n");
    }
}
