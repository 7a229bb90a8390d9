package org.pocketqa.core;

/** One window: [CLS] question [SEP] part of the passage [SEP]. Token k of the part stands at position `contextBegin + k`. */
final class Window {
    final int contextBegin;
    /** First passage token of the part, and how many there are. */
    final int firstToken;
    final int tokenCount;
    private final int row;
    private final int[] owners;

    /** This is window `row`; `owners`, which all windows share, has for each passage token the row that sees it best. */
    Window(int contextBegin, int firstToken, int tokenCount, int row, int[] owners) {
        this.contextBegin = contextBegin;
        this.firstToken = firstToken;
        this.tokenCount = tokenCount;
        this.row = row;
        this.owners = owners;
    }

    /** Does this window see token `k` of its part with the most context? */
    boolean hasMaxContext(int k) {
        return owners[firstToken + k] == row;
    }

    /** Tokens of the whole window. */
    int size() {
        return contextBegin + tokenCount + 1;
    }
}
