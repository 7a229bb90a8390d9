package org.pocketqa.core;

/** Hears how far a question has come. */
public interface Progress {
    /** Called now and then while the text is tokenized (0 of 0), then before the first window and after each; may throw java.util.concurrent.CancellationException to stop. */
    void windowDone(int done, int total);
}
