package org.pocketqa.core;

/** Hears how far a question has come. */
public interface Progress {
    /** Called when the windows are cut (0 done) and after each; may throw java.util.concurrent.CancellationException to stop. */
    void windowDone(int done, int total);
}
