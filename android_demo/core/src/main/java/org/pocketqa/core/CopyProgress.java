package org.pocketqa.core;

/** Hears how much of a file has been copied. */
public interface CopyProgress {
    /** Called after each block; may throw java.util.concurrent.CancellationException to stop. */
    void copied(long bytes);
}
