package org.pocketqa.app;

import java.io.IOException;
import java.io.InputStream;

/** Model file to be copied into the app. Not on the main thread. */
interface Incoming {
    InputStream open() throws IOException;

    /** Returns the name that the user knows. */
    String name();

    /** Returns its size; -1 if it is unknown. */
    long bytes();

    /** Called when the app has its own copy. */
    default void taken() {}

    /** Tests whether the user must agree before the copy becomes a model, because another app sent the file. */
    default boolean asks() {
        return false;
    }

    /** Called on the main thread if the file is not a usable model. */
    default void refused() {}
}
