package org.pocketqa.app;

import org.pocketqa.core.Answers;
import org.pocketqa.core.Candidate;

/** Question with its passage and the answers of the model. */
final class Result {
    private static final int MOST_CHARACTERS = 2000; // limit for the clipboard and for other apps

    final Passage passage;
    final String question;
    final Answers answers;
    final double[] probabilities;
    final ModelInfo model;

    Result(Passage passage, String question, Answers answers, ModelInfo model) {
        this.passage = passage;
        this.question = question;
        this.answers = answers;
        this.probabilities = answers.probabilities();
        this.model = model;
    }

    /** Returns the text of an answer on one line, shortened if needed: an answer has few tokens, but a token can be very long. */
    String text(int candidate) {
        Candidate found = answers.candidates.get(candidate);
        boolean cut = found.end - found.start > MOST_CHARACTERS;
        String text = passage.text.substring(found.start, cut ? found.start + MOST_CHARACTERS : found.end);
        return text.replaceAll("\\s+", " ").trim() + (cut ? "…" : "");
    }
}
