package org.pocketqa.app;

import java.io.IOException;
import java.io.InputStream;

/** A model file on its way into the app. Off the main thread. */
interface Incoming {
    InputStream open() throws IOException;

    /** The name that the user knows it by. */
    String name();

    /** Its size, -1 when that is not known. */
    long bytes();

    /** Called once the app has its own copy. */
    void taken();

    /** Called, on the main thread, when it was found to be no usable model. */
    default void refused() {}
}
