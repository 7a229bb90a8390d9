package org.pocketqa.core;

import java.io.IOException;

/** A file that cannot be read as text. The message is a sentence for the person who chose it. */
public final class TextFileException extends IOException {
    private static final long serialVersionUID = 1;

    public TextFileException(String message) {
        super(message);
    }
}
