package org.pocketqa.app;

import android.content.res.Resources;
import java.util.List;
import org.pocketqa.core.TextFileException;

/** A text at hand: bundled, pasted or shared. */
final class TextSource implements PassageSource {
    final String title;
    final String text;
    private final String source;
    private final List<String> questions;
    private final Resources words;

    TextSource(String title, String source, String text, List<String> questions, Resources words) {
        this.title = title;
        this.source = source;
        this.text = text;
        this.questions = questions;
        this.words = words;
    }

    @Override
    public Passage read() throws TextFileException {
        if (text.trim().isEmpty()) {
            throw new TextFileException(words.getString(R.string.text_empty));
        }
        return new Passage(title, source, text, questions);
    }
}
