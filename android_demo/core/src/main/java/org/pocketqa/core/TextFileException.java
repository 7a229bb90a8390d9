package org.pocketqa.core;

import java.io.IOException;

/** Thrown for a file that cannot be read as text. The message is a sentence for the user. */
public final class TextFileException extends IOException {
    private static final long serialVersionUID = 1;

    public TextFileException(String message) {
        super(message);
    }
}
