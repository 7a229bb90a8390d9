package org.pocketqa.core;

import java.util.Arrays;

/** Code points in the normalizer, each with its UTF-16 range [start, end) in the text. */
final class Characters {
    private static final int REPLACEMENT = 0xFFFD;

    int[] codePoints;
    int[] starts;
    int[] ends;
    int size;

    Characters(int capacity) {
        codePoints = new int[Math.max(16, capacity)];
        starts = new int[codePoints.length];
        ends = new int[codePoints.length];
    }

    /** Returns the code points of text[from, to). An unpaired surrogate becomes U+FFFD, because no tokenizer accepts it. */
    static Characters of(String text, int from, int to) {
        Characters characters = new Characters(to - from);
        for (int i = from; i < to; ) {
            int codePoint = text.codePointAt(i);
            int next = i + Character.charCount(codePoint);
            boolean lone = codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
            characters.add(lone ? REPLACEMENT : codePoint, i, next);
            i = next;
        }
        return characters;
    }

    void add(int codePoint, int start, int end) {
        if (size == codePoints.length) {
            codePoints = Arrays.copyOf(codePoints, 2 * size);
            starts = Arrays.copyOf(starts, 2 * size);
            ends = Arrays.copyOf(ends, 2 * size);
        }
        codePoints[size] = codePoint;
        starts[size] = start;
        ends[size] = end;
        size++;
    }
}
