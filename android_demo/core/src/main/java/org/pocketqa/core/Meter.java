package org.pocketqa.core;

/** What is read around the runs of a benchmark; null where the phone does not tell. */
public interface Meter {
    /** A clock that only ever goes forward. */
    long nanos();

    /** Android's thermal status, 0 (none) to 6 (shutdown). */
    Integer thermalStatus();

    /** Resident memory of this process. */
    Long memoryBytes();
}
