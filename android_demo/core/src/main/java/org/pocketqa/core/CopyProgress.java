package org.pocketqa.core;

/** Listener for the progress of a copy. */
public interface CopyProgress {
    /** Called after each block; may throw java.util.concurrent.CancellationException to stop. */
    void copied(long bytes);
}
