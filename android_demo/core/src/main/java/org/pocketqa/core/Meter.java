package org.pocketqa.core;

/** Readings around the runs of a benchmark; null where the phone does not provide them. */
public interface Meter {
    /** Returns the time of a monotonic clock. */
    long nanos();

    /** Returns Android's thermal status, 0 (none) to 6 (shutdown). */
    Integer thermalStatus();

    /** Returns the resident memory of this process. */
    Long memoryBytes();
}
