package org.pocketqa.core;

/** When a model declines to answer. */
public enum Mode {
    /** Never. */
    ANSWERING,
    /** Above its no-answer threshold. */
    BALANCED,
    /** Above its strict threshold: few unanswerable questions get an answer. */
    STRICT
}
