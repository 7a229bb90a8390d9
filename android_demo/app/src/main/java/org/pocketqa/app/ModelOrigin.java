package org.pocketqa.app;

import java.io.File;
import java.io.IOException;
import org.pocketqa.core.StoredModel;

/** A file to load, and what becomes of it. All but the key is for the engine's thread. */
interface ModelOrigin {
    /** What the settings remember it by; `Settings.name` of it is the name that the user knows. */
    String key();

    /** The file, such that nobody changes it while it is open. Called once. */
    File file() throws IOException;

    /** Called once the phone has proved that it computes the model rightly. */
    StoredModel accept() throws IOException;

    /** Called when the file cannot be used. */
    void reject();
}
