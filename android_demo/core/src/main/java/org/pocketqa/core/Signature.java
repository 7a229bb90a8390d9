package org.pocketqa.core;

import java.util.List;

/** Entry point of a model. Computes windows of exactly `length` tokens; shorter windows are padded. */
public final class Signature {
    public final String name;
    public final int length;

    public Signature(String name, int length) {
        this.name = name;
        this.length = length;
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
