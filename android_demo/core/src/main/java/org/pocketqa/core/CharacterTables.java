package org.pocketqa.core;

import java.util.Arrays;
import java.util.List;

/**
 * Unicode tables of the training tokenizer, read from the model file (written by export/android/characters.py).
 *
 * No version of Java or Android has the tokenizer's Unicode data, so no method of Character or Normalizer is used.
 */
final class CharacterTables {
    private static final int HANGUL_FIRST = 0xAC00;
    private static final int HANGUL_SYLLABLES = 11172;
    private static final int HANGUL_VOWELS = 21;
    private static final int HANGUL_TRAILS = 28;
    private static final int HIGHEST_CLASS = 254;
    private static final int FIRST_MARK = 0x300;

    /** Code points that cleaning removes. */
    final CodePointSet removed;
    /** Code points that cleaning replaces by a space. */
    final CodePointSet spaces;
    /** Code points that get a space on both sides. */
    final CodePointSet ideographs;
    /** Code points that are removed as accents. */
    final CodePointSet marks;
    final CodePointMap lowercase;
    final CodePointSet whitespace;
    final CodePointSet punctuation;
    private final CodePointMap decompositions;
    private final int[][] combining;

    CharacterTables(Fields json) throws ModelFileException {
        json.string("tokenizers"); // the version of the library, for people
        removed = set(json, "removed");
        spaces = set(json, "spaces");
        ideographs = set(json, "ideographs");
        marks = set(json, "marks");
        whitespace = set(json, "whitespace");
        punctuation = set(json, "punctuation");
        lowercase = new CodePointMap("characters.json: lowercase", json.list("lowercase"));
        decompositions = new CodePointMap("characters.json: decompositions", json.list("decompositions"));
        combining = combining(json.list("combining"));
    }

    /** Tests for a character that belongs to the letter before it: an accent, U+200D (joiner) or U+FE0F (emoji style). */
    boolean isMark(int codePoint) {
        return codePoint >= FIRST_MARK && (codePoint == 0x200D || codePoint == 0xFE0F || marks.contains(codePoint));
    }

    private static CodePointSet set(Fields json, String name) throws ModelFileException {
        return new CodePointSet("characters.json: " + name, json.list(name));
    }

    private static int[][] combining(List<?> ranges) throws ModelFileException {
        String where = "characters.json: combining";
        int[][] read = new int[ranges.size()][];
        for (int i = 0; i < read.length; i++) {
            read[i] = Fields.integers(where, ranges.get(i), 0, Character.MAX_CODE_POINT);
            boolean fits = read[i].length == 3 && read[i][0] <= read[i][1] && (i == 0 || read[i][0] > read[i - 1][1]);
            if (!fits || read[i][2] < 1 || read[i][2] > HIGHEST_CLASS) {
                throw Fields.wrong(where, "ascending triples [first, last, class]", Arrays.toString(read[i]));
            }
        }
        return read;
    }

    /** Returns the canonical combining class; 0 for a character that does not combine. */
    int combiningClass(int codePoint) {
        int low = 0;
        int high = combining.length - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (codePoint < combining[middle][0]) {
                high = middle - 1;
            } else if (codePoint > combining[middle][1]) {
                low = middle + 1;
            } else {
                return combining[middle][2];
            }
        }
        return 0;
    }

    /** Returns the full canonical decomposition, or null if a code point has none. */
    int[] decomposition(int codePoint) {
        int syllable = codePoint - HANGUL_FIRST;
        if (syllable < 0 || syllable >= HANGUL_SYLLABLES) {
            return decompositions.get(codePoint);
        }
        // Unicode Standard, section 3.12: a syllable is lead, vowel and trail; the first syllable of each group has no trail.
        int trail = syllable % HANGUL_TRAILS;
        int vowel = syllable / HANGUL_TRAILS % HANGUL_VOWELS;
        int lead = syllable / HANGUL_TRAILS / HANGUL_VOWELS;
        return trail == 0
                ? new int[] {0x1100 + lead, 0x1161 + vowel}
                : new int[] {0x1100 + lead, 0x1161 + vowel, 0x11A7 + trail};
    }
}
