package org.pocketqa.app;

import android.content.res.Resources;
import java.util.Collections;
import java.util.List;
import org.pocketqa.core.Paragraphs;
import org.pocketqa.core.TextFileException;

/** A text to ask about. Cutting a long one into paragraphs takes a moment: make it off the main thread. */
final class Passage {
    private static final int LONGEST_PARAGRAPH = 2000;

    final String title;
    /** Where it comes from, for the reader. */
    final String source;
    final String text;
    /** Questions to suggest, may be empty. */
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

    /** One that the user brought; TextFileException when it is empty. */
    static Passage own(String title, String source, String text, Resources words) throws TextFileException {
        if (text.trim().isEmpty()) {
            throw new TextFileException(words.getString(R.string.text_empty));
        }
        return new Passage(title, source, text, Collections.<String>emptyList());
    }
}
