package org.pocketqa.core;

import java.util.Arrays;
import java.util.List;

/** Map from a code point to its replacement. */
final class CodePointMap {
    private static final int LONGEST = 19; // a code point, and the longest decomposition that Unicode has

    private final int[] keys;
    private final int[][] values;

    /** Reads [[from, to, to, ...], ...], ascending by `from`; `where` names the list in errors. */
    CodePointMap(String where, List<?> entries) throws ModelFileException {
        keys = new int[entries.size()];
        values = new int[keys.length][];
        for (int i = 0; i < keys.length; i++) {
            int[] entry = Fields.integers(where, entries.get(i), 0, Character.MAX_CODE_POINT);
            if (entry.length < 2 || entry.length > LONGEST || (i > 0 && entry[0] <= keys[i - 1])) {
                throw Fields.wrong(where, "ascending lists [from, to, ...]", Arrays.toString(entry));
            }
            keys[i] = entry[0];
            values[i] = Arrays.copyOfRange(entry, 1, entry.length);
        }
    }

    /** Returns the replacement of a code point, or null if it does not change. */
    int[] get(int codePoint) {
        int at = Arrays.binarySearch(keys, codePoint);
        return at < 0 ? null : values[at];
    }
}
