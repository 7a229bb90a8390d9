package org.pocketqa.app;

import android.content.res.Resources;
import java.util.Collections;
import java.util.List;
import org.pocketqa.core.Paragraphs;
import org.pocketqa.core.TextFileException;

/** Text to ask about. Create it off the main thread, because cutting a long text into paragraphs takes time. */
final class Passage {
    private static final int LONGEST_PARAGRAPH = 2000;

    final String title;
    /** Source of the text, for the reader. */
    final String source;
    final String text;
    /** Suggested questions; may be empty. */
    final List<String> questions;
    /** UTF-16 ranges [start, end) that cover the text. */
    final List<int[]> paragraphs;

    Passage(String title, String source, String text, List<String> questions) {
        this.title = title;
        this.source = source;
        this.text = text;
        this.questions = Collections.unmodifiableList(questions);
        this.paragraphs = Paragraphs.split(text, LONGEST_PARAGRAPH);
    }

    /** Creates a passage from a text of the user; half an emoji becomes U+FFFD. Throws TextFileException if it is empty. */
    static Passage own(String title, String source, String text, Resources words) throws TextFileException {
        if (text.trim().isEmpty()) {
            throw new TextFileException(words.getString(R.string.text_empty));
        }
        String whole = text.replaceAll("\\p{Cs}", "\ufffd"); // a half would be another character in the stored file
        return new Passage(title, source, whole, Collections.<String>emptyList());
    }
}
