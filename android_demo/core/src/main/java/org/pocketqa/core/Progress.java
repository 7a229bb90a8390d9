package org.pocketqa.core;

/** Listener for the progress of a question. */
public interface Progress {
    /**
         * Called at intervals while the text is tokenized (0 of 0), before the first window, and after each window.
         *
         * May throw java.util.concurrent.CancellationException to stop.
         */
    void windowDone(int done, int total);
}
