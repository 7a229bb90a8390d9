package org.pocketqa.core;

import java.io.Closeable;

/** Loaded model that computes start and end logits of a window of tokens. */
public interface LogitsModel extends Closeable {
    /**
     * Computes one window. All arrays have the signature's length; the last two are filled.
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
