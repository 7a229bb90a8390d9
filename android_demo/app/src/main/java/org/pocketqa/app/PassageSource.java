package org.pocketqa.app;

import java.io.IOException;

/** Somewhere a passage comes from. Read off the main thread. */
interface PassageSource {
    /** The passage; an IOException, best a TextFileException with a sentence for the user, when there is none. */
    Passage read() throws IOException;
}
