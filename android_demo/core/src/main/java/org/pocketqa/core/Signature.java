package org.pocketqa.core;

/** One entry point of a model: it computes windows of exactly `length` tokens, shorter ones padded. */
public final class Signature {
    public final String name;
    public final int length;

    public Signature(String name, int length) {
        this.name = name;
        this.length = length;
    }
}
