package org.pocketqa.core;

import java.util.Arrays;
import java.util.List;

/** Set of code points, stored as ascending ranges. */
final class CodePointSet {
    private final int[] firsts;
    private final int[] lasts;

    /** Reads [[first, last], ...]; `where` names the list in errors. */
    CodePointSet(String where, List<?> ranges) throws ModelFileException {
        firsts = new int[ranges.size()];
        lasts = new int[ranges.size()];
        int before = -1;
        for (int i = 0; i < firsts.length; i++) {
            int[] range = Fields.integers(where, ranges.get(i), 0, Character.MAX_CODE_POINT);
            if (range.length != 2 || range[0] <= before || range[1] < range[0]) {
                throw Fields.wrong(where, "ascending pairs [first, last]", Arrays.toString(range));
            }
            firsts[i] = range[0];
            lasts[i] = before = range[1];
        }
    }

    boolean contains(int codePoint) {
        int at = Arrays.binarySearch(firsts, codePoint);
        return at >= 0 || (at < -1 && codePoint <= lasts[-at - 2]);
    }
}
