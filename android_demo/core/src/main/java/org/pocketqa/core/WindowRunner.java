package org.pocketqa.core;

import java.util.Arrays;
import java.util.List;

/** Runs windows in the smallest signature that fits. Reuses its arrays. */
final class WindowRunner {
    private final LogitsModel model;
    private final List<Signature> signatures;
    private final int padId;
    private int[] ids = {};
    private int[] mask = {};
    private int[] types = {};
    float[] startLogits = {};
    float[] endLogits = {};
    private Signature signature;

    WindowRunner(LogitsModel model, List<Signature> signatures, int padId) {
        this.model = model;
        this.signatures = signatures;
        this.padId = padId;
    }

    /** Prepares a window of `n` tokens whose passage starts at `contextBegin`. The caller fills in the first `n` ids. */
    int[] prepare(int n, int contextBegin) {
        signature = Signature.smallestThatFits(n, signatures);
        int length = signature.lengthOf(n);
        if (ids.length != length) {
            ids = new int[length];
            mask = new int[length];
            types = new int[length];
            startLogits = new float[length];
            endLogits = new float[length];
        }
        Arrays.fill(ids, n, ids.length, padId);
        Arrays.fill(mask, 0, n, 1);
        Arrays.fill(mask, n, mask.length, 0);
        Arrays.fill(types, 0);
        Arrays.fill(types, contextBegin, n, 1);
        return ids;
    }

    /** Runs the prepared window. `startLogits` and `endLogits` hold the result until the next run. */
    void run() {
        model.run(signature, ids, mask, types, startLogits, endLogits);
    }
}
