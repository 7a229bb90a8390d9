package org.pocketqa.core;

import java.util.ArrayList;
import java.util.List;

/** Cuts a text into pieces for the rows of a list, so that long texts scroll smoothly. */
public final class Paragraphs {
    private Paragraphs() {}

    /**
     * Returns UTF-16 ranges [start, end) that cover the text without gaps, none longer than `longest` (at least 2).
     *
     * Cuts after line ends. Cuts a longer line after its last space that fits. Never cuts inside a surrogate pair or a \r\n.
     */
    public static List<int[]> split(String text, int longest) {
        List<int[]> ranges = new ArrayList<int[]>();
        int from = 0;
        while (from < text.length()) {
            int end = lineEnd(text, from, Math.min(text.length(), from + longest));
            ranges.add(new int[] {from, end});
            from = end;
        }
        return ranges;
    }

    private static int lineEnd(String text, int from, int limit) {
        int afterSpace = -1;
        for (int i = from; i < limit; i++) {
            char c = text.charAt(i);
            boolean pair = c == '\r' && i + 1 < text.length() && text.charAt(i + 1) == '\n';
            if (c == '\n' || (c == '\r' && !pair)) {
                return i + 1;
            }
            afterSpace = c == ' ' || c == '\t' ? i + 1 : afterSpace;
        }
        if (limit == text.length()) {
            return limit;
        }
        if (afterSpace > 0) {
            return afterSpace;
        }
        char before = text.charAt(limit - 1);
        char after = text.charAt(limit);
        boolean insidePair = Character.isHighSurrogate(before) && Character.isLowSurrogate(after);
        return insidePair || (before == '\r' && after == '\n') ? limit - 1 : limit;
    }
}
