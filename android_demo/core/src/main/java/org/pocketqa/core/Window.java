package org.pocketqa.core;

/** Window: [CLS] question [SEP] part of the passage [SEP]. Token k of the part is at position `contextBegin + k`. */
final class Window {
    final int contextBegin;
    /** First passage token of the part, and the number of tokens. */
    final int firstToken;
    final int tokenCount;
    private final int row;
    private final int[] owners;

    /** Index of this window. `owners`, shared by all windows, gives for each passage token the window with most context. */
    Window(int contextBegin, int firstToken, int tokenCount, int row, int[] owners) {
        this.contextBegin = contextBegin;
        this.firstToken = firstToken;
        this.tokenCount = tokenCount;
        this.row = row;
        this.owners = owners;
    }

    /** Tests whether token `k` of the part has most context in this window. */
    boolean hasMaxContext(int k) {
        return owners[firstToken + k] == row;
    }

    /** Returns the number of tokens of the window. */
    int size() {
        return contextBegin + tokenCount + 1;
    }
}
