package org.pocketqa.core;

import java.util.Arrays;

/** Token ids of a text, each with its UTF-16 range [start, end). */
public final class Tokens {
    private int[] ids = new int[64];
    private int[] starts = new int[64];
    private int[] ends = new int[64];
    private int size;

    void add(int id, int start, int end) {
        if (size == ids.length) {
            ids = Arrays.copyOf(ids, 2 * size);
            starts = Arrays.copyOf(starts, 2 * size);
            ends = Arrays.copyOf(ends, 2 * size);
        }
        ids[size] = id;
        starts[size] = start;
        ends[size] = end;
        size++;
    }

    /** Removes all tokens from index `newSize` on. */
    void truncate(int newSize) {
        size = newSize;
    }

    /** Moves the ends of the tokens over the marks that follow them in the text, as qa/text/marks.py does. */
    void moveEndsOverMarks(String text, CharacterTables tables) {
        int at = 0;
        for (int i = 0; i < size; i++) {
            at = Math.max(at, ends[i]); // between the end before and `at` there are only marks
            while (at < text.length() && tables.isMark(text.codePointAt(at))) {
                at += Character.charCount(text.codePointAt(at));
            }
            ends[i] = at;
        }
    }

    public int size() {
        return size;
    }

    public int id(int token) {
        return ids[token];
    }

    public int start(int token) {
        return starts[token];
    }

    public int end(int token) {
        return ends[token];
    }

    /** Copies `n` ids, starting at token `from`, into `target`. */
    void copyIds(int from, int n, int[] target, int at) {
        System.arraycopy(ids, from, target, at, n);
    }
}
