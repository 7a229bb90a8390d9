package org.pocketqa.core;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The training tokenizer: normalize, split at whitespace and punctuation, then WordPiece (longest match first). */
public final class WordPieceTokenizer {
    private static final int PIECE = 1 << 16;
    private static final int LONGEST_WORD = 1000; // BERT has 100; the time per word grows with the cube of its length

    public final int clsId;
    public final int sepId;
    public final int padId;
    private final int unknownId;
    private final CharacterTables tables;
    private final BertNormalizer normalizer;
    private final Map<String, Integer> vocabulary;
    private final String prefix;
    private final int longestWord;
    private final int longestToken; // in code points; longer pieces are not in the vocabulary

    /** Reads `info` (qa.json); `tokens` is the vocabulary in the order of ids. */
    WordPieceTokenizer(Fields info, List<String> tokens, CharacterTables tables) throws ModelFileException {
        this.tables = tables;
        normalizer = new BertNormalizer(info.object("normalizer"), tables);
        Fields wordPiece = info.object("wordpiece");
        prefix = wordPiece.string("continuing_subword_prefix");
        longestWord = wordPiece.integer("max_input_chars_per_word", 1, LONGEST_WORD);
        vocabulary = new HashMap<String, Integer>(2 * tokens.size());
        int longest = 1;
        for (int id = 0; id < tokens.size(); id++) {
            longest = Math.max(longest, tokens.get(id).codePointCount(0, tokens.get(id).length()));
            if (vocabulary.put(tokens.get(id), id) != null) {
                throw Fields.wrong("vocab.txt", "a list of different tokens", tokens.get(id) + ", twice");
            }
        }
        longestToken = longest;
        Fields special = info.object("special_tokens");
        clsId = specialId(special, "[CLS]");
        sepId = specialId(special, "[SEP]");
        padId = specialId(special, "[PAD]");
        unknownId = specialId(special, "[UNK]");
    }

    private int specialId(Fields special, String token) throws ModelFileException {
        int id = special.integer(token, 0, Integer.MAX_VALUE);
        Integer at = vocabulary.get(token);
        if (at == null || at != id) {
            throw Fields.wrong("vocab.txt: the line of " + token, String.valueOf(id + 1L), at == null ? "missing" : at + 1);
        }
        return id;
    }

    public int vocabularySize() {
        return vocabulary.size();
    }

    /** Returns the tokens of a text, without special tokens. "[SEP]" in a text is plain text. */
    public Tokens encode(String text) {
        return encode(text, null);
    }

    /** Returns the tokens of a text. `progress` (may be null) gets (0, 0) at intervals, so that it can stop a long text. */
    Tokens encode(String text, Progress progress) {
        Tokens tokens = new Tokens();
        for (int from = 0; from < text.length(); ) {
            if (progress != null) {
                progress.windowDone(0, 0);
            }
            int to = pieceEnd(text, from);
            encode(normalizer.normalize(Characters.of(text, from, to)), tokens);
            from = to;
        }
        return tokens;
    }

    /** Returns the tokens of a passage; an answer that ends in a token keeps the accent behind it. */
    Tokens encodePassage(String text, Progress progress) {
        Tokens tokens = encode(text, progress);
        tokens.moveEndsOverMarks(text, tables);
        return tokens;
    }

    /** Returns the end of the next piece. Pieces save memory for long texts; no word, and no letter with its marks, is split. */
    private int pieceEnd(String text, int from) {
        int end = Math.min(text.length(), from + PIECE);
        while (end < text.length() && !endsWords(text.charAt(end - 1))) {
            end++;
        }
        return end;
    }

    private boolean endsWords(char c) {
        return (tables.whitespace.contains(c) || tables.punctuation.contains(c)) && !tables.removed.contains(c);
    }

    private void encode(Characters characters, Tokens tokens) {
        int wordAt = 0;
        for (int i = 0; i < characters.size; i++) {
            int c = characters.codePoints[i];
            boolean space = tables.whitespace.contains(c);
            if (space || tables.punctuation.contains(c)) {
                addWord(characters, wordAt, i, tokens);
                if (!space) {
                    addWord(characters, i, i + 1, tokens);
                }
                wordAt = i + 1;
            }
        }
        addWord(characters, wordAt, characters.size, tokens);
    }

    /** Adds the pieces of the word [from, to), or one [UNK] if it is too long or has an unknown part. */
    private void addWord(Characters characters, int from, int to, Tokens tokens) {
        if (from == to) {
            return;
        }
        int before = tokens.size();
        if (to - from <= longestWord) {
            String word = new String(characters.codePoints, from, to - from);
            int at = from;
            int unitAt = 0; // UTF-16 index of `at` in `word`
            while (at < to) {
                int end = Math.min(to, at + longestToken);
                int unitEnd = word.offsetByCodePoints(unitAt, end - at);
                Integer id = lookUp(word, unitAt, unitEnd, at > from);
                while (id == null && end > at + 1) {
                    end--;
                    unitEnd -= Character.charCount(characters.codePoints[end]);
                    id = lookUp(word, unitAt, unitEnd, at > from);
                }
                if (id == null) {
                    break;
                }
                tokens.add(id, characters.starts[at], characters.ends[end - 1]);
                at = end;
                unitAt = unitEnd;
            }
            if (at == to) {
                return;
            }
            tokens.truncate(before);
        }
        tokens.add(unknownId, characters.starts[from], characters.ends[to - 1]);
    }

    private Integer lookUp(String word, int from, int to, boolean continued) {
        String piece = word.substring(from, to);
        return vocabulary.get(continued ? prefix + piece : piece);
    }
}
