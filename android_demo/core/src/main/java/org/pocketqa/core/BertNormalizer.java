package org.pocketqa.core;

import java.util.Arrays;

/**
 * Normalizer of the training tokenizer; every character keeps its offsets in the text.
 *
 * The steps are those of BertNormalizer in the tokenizers library, in its order: clean, ideographs, accents, lowercase.
 */
final class BertNormalizer {
    private final CharacterTables tables;
    private final boolean cleanText;
    private final boolean handleChineseChars;
    private final boolean stripAccents;
    private final boolean lowercase;

    /** Reads the switches from "normalizer" of qa.json. */
    BertNormalizer(Fields switches, CharacterTables tables) throws ModelFileException {
        this.tables = tables;
        cleanText = switches.bool("clean_text");
        handleChineseChars = switches.bool("handle_chinese_chars");
        lowercase = switches.bool("lowercase");
        stripAccents = switches.isNull("strip_accents") ? lowercase : switches.bool("strip_accents");
    }

    Characters normalize(Characters characters) {
        characters = cleanText ? clean(characters) : characters;
        characters = handleChineseChars ? spaceIdeographs(characters) : characters;
        characters = stripAccents ? dropMarks(decompose(characters)) : characters;
        return lowercase ? lowercase(characters) : characters;
    }

    private Characters clean(Characters in) {
        Characters out = new Characters(in.size);
        for (int i = 0; i < in.size; i++) {
            int c = in.codePoints[i];
            if (isPlain(c)) {
                out.add(c, in.starts[i], in.ends[i]);
            } else if (!tables.removed.contains(c)) {
                out.add(tables.spaces.contains(c) ? ' ' : c, in.starts[i], in.ends[i]);
            }
        }
        return out;
    }

    private Characters spaceIdeographs(Characters in) {
        Characters out = new Characters(in.size);
        for (int i = 0; i < in.size; i++) {
            int c = in.codePoints[i];
            boolean ideograph = !isPlain(c) && tables.ideographs.contains(c);
            if (ideograph) {
                out.add(' ', in.starts[i], in.ends[i]);
            }
            out.add(c, in.starts[i], in.ends[i]);
            if (ideograph) {
                out.add(' ', in.starts[i], in.ends[i]);
            }
        }
        return out;
    }

    /**
     * Applies canonical decomposition (NFD). Adjacent marks are sorted by combining class. Offsets are assigned by position, as in
     * the training tokenizer: an added character gets the offsets of the character before it.
     */
    private Characters decompose(Characters in) {
        Characters out = new Characters(in.size + in.size / 8);
        int[] classes = new int[out.codePoints.length];
        int marksAt = 0; // out[marksAt..] are marks that are not sorted yet
        for (int i = 0; i < in.size; i++) {
            int c = in.codePoints[i];
            int[] parts = isPlain(c) ? null : tables.decomposition(c);
            for (int k = 0; k < (parts == null ? 1 : parts.length); k++) {
                int part = parts == null ? c : parts[k];
                int combiningClass = isPlain(part) ? 0 : tables.combiningClass(part);
                if (combiningClass == 0) {
                    orderMarks(out, classes, marksAt);
                    marksAt = out.size + 1;
                }
                // Until offsets are assigned, starts holds 1 for an added character and 0 for a replacement.
                out.add(part, k == 0 ? 0 : 1, 0);
                classes = classes.length < out.codePoints.length ? Arrays.copyOf(classes, out.codePoints.length) : classes;
                classes[out.size - 1] = combiningClass;
            }
        }
        orderMarks(out, classes, marksAt);
        int next = 0; // the next character of `in` whose offsets are assigned
        for (int i = 0; i < out.size; i++) {
            boolean added = out.starts[i] == 1;
            int from = added ? next - 1 : next++;
            out.starts[i] = from < 0 ? 0 : in.starts[from];
            out.ends[i] = from < 0 ? 0 : in.ends[from];
        }
        return out;
    }

    /** Sorts characters[from..] by combining class (stable). Must be fast: a text may have a million adjacent marks. */
    private static void orderMarks(Characters characters, int[] classes, int from) {
        int n = characters.size - from;
        if (n < 2) {
            return;
        }
        long[] order = new long[n];
        for (int k = 0; k < n; k++) {
            order[k] = (long) classes[from + k] << 32 | k;
        }
        Arrays.sort(order);
        int[] codePoints = Arrays.copyOfRange(characters.codePoints, from, characters.size);
        int[] added = Arrays.copyOfRange(characters.starts, from, characters.size);
        for (int k = 0; k < n; k++) {
            characters.codePoints[from + k] = codePoints[(int) order[k]];
            characters.starts[from + k] = added[(int) order[k]];
        }
    }

    private Characters dropMarks(Characters in) {
        Characters out = new Characters(in.size);
        for (int i = 0; i < in.size; i++) {
            int c = in.codePoints[i];
            if (isPlain(c) || !tables.marks.contains(c)) {
                out.add(c, in.starts[i], in.ends[i]);
            }
        }
        return out;
    }

    private Characters lowercase(Characters in) {
        Characters out = new Characters(in.size);
        for (int i = 0; i < in.size; i++) {
            int c = in.codePoints[i];
            int[] lower = isPlain(c) && (c < 'A' || c > 'Z') ? null : tables.lowercase.get(c);
            for (int k = 0; k < (lower == null ? 1 : lower.length); k++) {
                out.add(lower == null ? c : lower[k], in.starts[i], in.ends[i]);
            }
        }
        return out;
    }

    /** Tests for printable ASCII, which only the lowercase table changes. Most text is ASCII, so this is the fast path. */
    private static boolean isPlain(int codePoint) {
        return codePoint >= ' ' && codePoint < 0x7F;
    }
}
