package org.pocketqa.app;

import org.pocketqa.core.Answers;
import org.pocketqa.core.Candidate;

/** A question, the passage it was asked on, and what the model made of it. */
final class Result {
    private static final int MOST_CHARACTERS = 2000; // what goes to the clipboard or to another app has a limit too

    final Passage passage;
    final String question;
    final Answers answers;
    final double[] probabilities;
    final ModelInfo model;
    /** Was all of the text to be read, however long? */
    final boolean readAll;

    Result(Passage passage, String question, Answers answers, ModelInfo model, boolean readAll) {
        this.passage = passage;
        this.question = question;
        this.answers = answers;
        this.probabilities = answers.probabilities();
        this.model = model;
        this.readAll = readAll;
    }

    /** An answer's text on one line, cut where it is longer than anybody reads: 30 tokens are words, but a token has no limit. */
    String text(int candidate) {
        Candidate found = answers.candidates.get(candidate);
        boolean cut = found.end - found.start > MOST_CHARACTERS;
        String text = passage.text.substring(found.start, cut ? found.start + MOST_CHARACTERS : found.end);
        return text.replaceAll("\\s+", " ").trim() + (cut ? "…" : "");
    }
}
