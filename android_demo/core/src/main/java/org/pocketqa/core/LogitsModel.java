package org.pocketqa.core;

import java.io.Closeable;

/** One loaded model: a window of tokens in, its start and end logits out. */
public interface LogitsModel extends Closeable {
    /**
     * Computes one window. All arrays have the signature's length; the last two are filled.
     *
     * @param inputIds token ids, padded
     * @param attentionMask 1 for a token, 0 for padding
     * @param tokenTypeIds 1 for the passage and its [SEP], 0 elsewhere
     */
    void run(
            Signature signature,
            int[] inputIds,
            int[] attentionMask,
            int[] tokenTypeIds,
            float[] startLogits,
            float[] endLogits);

    /** Gives back what it holds; by default that is nothing. */
    @Override
    default void close() {}
}
