package org.pocketqa.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CancellationException;
import org.junit.Test;

/** Cases that need longer texts than the recorded ones. */
public class WordPieceTokenizerTest {
    @Test
    public void aBookHasTheTokensOfItsWords() throws IOException {
        WordPieceTokenizer tokenizer = ModelPackage.read(ModelFiles.good()).tokenizer();
        String[] words = {"The", "elephants'", "caf\u00e9", "cafe\u0301", "\u6771\u4eac\u30bf\u30ef\u30fc",
            "\u0301\u0323marked", "(1984),", "\ud83d\ude00", "\ud55c\uad6d\uc5b4", "\u0130stanbul", "\u1ec7\u0323", "\u200b",
            "x\u00a0y\u3000z", "\u0915\u093c\u094d", "\ud83d"};
        Tokens[] known = new Tokens[words.length];
        for (int i = 0; i < words.length; i++) {
            known[i] = tokenizer.encode(words[i]);
        }
        StringBuilder book = new StringBuilder();
        Random random = new Random(11);
        for (int n = 0; n < 300000; n++) {
            book.append(words[random.nextInt(words.length)]).append(n % 13 == 0 ? '\n' : ' ');
        }
        Tokens seen = tokenizer.encode(book.toString());
        // The same words again: beside the tokens of a book, the heap has no room for those expected.
        random = new Random(11);
        int at = 0;
        int token = 0;
        for (int n = 0; n < 300000; n++) {
            int word = random.nextInt(words.length);
            for (int i = 0; i < known[word].size(); i++, token++) {
                assertEquals("id of token " + token, known[word].id(i), seen.id(token));
                assertEquals("start of token " + token, at + known[word].start(i), seen.start(token));
                assertEquals("end of token " + token, at + known[word].end(i), seen.end(token));
            }
            at += words[word].length() + 1;
        }
        assertEquals(token, seen.size());
    }

    @Test
    public void aWordMayBeAsLongAsABook() throws IOException {
        char[] text = new char[300000];
        Arrays.fill(text, 'a');
        WordPieceTokenizer tokenizer = ModelPackage.read(ModelFiles.good()).tokenizer();
        Tokens tokens = tokenizer.encode(new String(text));
        assertEquals(1, tokens.size());
        assertEquals(100, tokens.id(0)); // [UNK]
        assertEquals(300000, tokens.end(0));
        Arrays.fill(text, '.');
        assertEquals(300000, tokenizer.encode(new String(text)).size());
        Arrays.fill(text, '\u0301');
        assertEquals(0, tokenizer.encode(new String(text)).size());
    }

    /** Offsets are assigned by position: an added character gets the offsets of the character before it. */
    @Test
    public void marksAreOrderedByClassAndEqualsStayAsTheyAre() throws IOException {
        String tables = ModelFiles.small().text(ModelFiles.CHARACTERS).replace("\"marks\": [[768, 879]]", "\"marks\": []");
        String info = ModelFiles.small().text(ModelFiles.INFO);
        Fields switches = Fields.parse("qa.json", info).object("normalizer");
        BertNormalizer normalizer = new BertNormalizer(switches, new CharacterTables(Fields.parse("characters.json", tables)));
        // 0301 and 0302 have class 230, 0323 has 220; 00E9 is e 0301, 1EC7 is e 0323 0302.
        assertNormal(normalizer, "a\u0301\u0302\u0323b", new int[] {'a', 0x323, 0x301, 0x302, 'b'}, new int[] {0, 1, 2, 3, 4});
        assertNormal(normalizer, "\u00e9\u0323\u0302", new int[] {'e', 0x323, 0x301, 0x302}, new int[] {0, 1, 1, 2});
        assertNormal(normalizer, "\u1ec7\u0323\u0301", new int[] {'e', 0x323, 0x323, 0x302, 0x301}, new int[] {0, 0, 1, 1, 2});
        assertNormal(normalizer, "\u0302\u0323", new int[] {0x323, 0x302}, new int[] {0, 1});
        int n = 200000;
        StringBuilder zalgo = new StringBuilder("a");
        int[] ordered = new int[n + 1];
        ordered[0] = 'a';
        for (int i = 0; i < n; i++) {
            zalgo.append(i % 2 == 0 ? '\u0301' : '\u0323');
            ordered[i + 1] = i < n / 2 ? 0x323 : 0x301;
        }
        Characters seen = normalizer.normalize(Characters.of(zalgo.toString(), 0, n + 1));
        assertArrayEquals(ordered, Arrays.copyOf(seen.codePoints, seen.size));
    }

    private static void assertNormal(BertNormalizer normalizer, String text, int[] codePoints, int[] starts) {
        Characters seen = normalizer.normalize(Characters.of(text, 0, text.length()));
        assertArrayEquals(text, codePoints, Arrays.copyOf(seen.codePoints, seen.size));
        assertArrayEquals(text, starts, Arrays.copyOf(seen.starts, seen.size));
    }

    @Test
    public void halfASurrogatePairVanishes() throws IOException {
        WordPieceTokenizer tokenizer = ModelPackage.read(ModelFiles.good()).tokenizer();
        Tokens whole = tokenizer.encode("ab");
        for (String text : new String[] {"a\ud800b", "a\udc00b"}) {
            Tokens tokens = tokenizer.encode(text);
            assertEquals(1, tokens.size());
            assertEquals(whole.id(0), tokens.id(0));
            assertEquals(0, tokens.start(0));
            assertEquals(3, tokens.end(0));
        }
    }

    @Test
    public void aLongTextCanBeStoppedWhileItIsTokenized() throws IOException {
        WordPieceTokenizer tokenizer = ModelPackage.read(ModelFiles.good()).tokenizer();
        char[] text = new char[1000000];
        Arrays.fill(text, '.');
        int[] calls = {0};
        Progress stop =
                (done, total) -> {
                    assertEquals(0, total);
                    if (++calls[0] == 3) {
                        throw new CancellationException();
                    }
                };
        assertThrows(CancellationException.class, () -> tokenizer.encode(new String(text), stop));
        assertEquals(3, calls[0]);
    }
}
