package org.pocketqa.core;

import java.io.IOException;

/** A file that is not a usable model. The message is one or two sentences for the person who chose the file. */
public class ModelFileException extends IOException {
    private static final long serialVersionUID = 1;

    public ModelFileException(String message) {
        super(message);
    }
}
