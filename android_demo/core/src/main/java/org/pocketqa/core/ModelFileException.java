package org.pocketqa.core;

import java.io.IOException;

/** Thrown for a file that is not a usable model. The message is one or two sentences for the user. */
public class ModelFileException extends IOException {
    private static final long serialVersionUID = 1;

    public ModelFileException(String message) {
        super(message);
    }
}
