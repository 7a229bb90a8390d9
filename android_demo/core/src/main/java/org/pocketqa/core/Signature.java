package org.pocketqa.core;

import java.util.List;

/** Entry point of a model. Computes windows of `length` tokens, or of any number up to that. */
public final class Signature {
    public final String name;
    public final int length;
    /** Whether shorter windows are computed at their own length; otherwise they are padded. */
    public final boolean anyLength;

    public Signature(String name, int length, boolean anyLength) {
        this.name = name;
        this.length = length;
        this.anyLength = anyLength;
    }

    /** Returns the length at which a window of `n` tokens is computed. */
    int lengthOf(int n) {
        return anyLength ? n : length;
    }

    /** Returns the shortest of `signatures` (ascending by length) that fits a window of `n` tokens. */
    static Signature smallestThatFits(int n, List<Signature> signatures) {
        for (Signature candidate : signatures) {
            if (candidate.length >= n) {
                return candidate;
            }
        }
        throw new IllegalArgumentException("a window of " + n + " tokens fits no signature");
    }
}
