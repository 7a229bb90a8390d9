package org.pocketqa.core;

import java.io.Closeable;

/** Loaded model that computes start and end logits of a window of tokens. */
public interface LogitsModel extends Closeable {
    /**
     * Computes one window. The last two arrays are filled.
     *
     * All arrays have the signature's length. If it takes any length, they have the window's, without padding.
     *
     * @param inputIds token ids, padded
     * @param attentionMask 1 for a token, 0 for padding
     * @param tokenTypeIds 1 for the passage and its [SEP], otherwise 0
     */
    void run(
            Signature signature,
            int[] inputIds,
            int[] attentionMask,
            int[] tokenTypeIds,
            float[] startLogits,
            float[] endLogits);

    /** Releases resources; the default has none. */
    @Override
    default void close() {}
}
