package org.pocketqa.app;

import java.io.File;
import java.io.IOException;
import org.pocketqa.core.StoredModel;

/** A file to load, and what becomes of it. */
interface ModelOrigin {
    /** The file, such that nobody changes it while it is open. Called once, on the engine's thread. */
    File file() throws IOException;

    /** As the user knows it. */
    String name();

    /** Called on the engine's thread once the phone has proved that it computes the model rightly. */
    StoredModel accept() throws IOException;

    /** Called on the engine's thread when the file cannot be used. */
    void reject();
}
