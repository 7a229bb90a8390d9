package org.pocketqa.app;

import org.pocketqa.core.Answers;
import org.pocketqa.core.Candidate;

/** A question, the passage it was asked on, and what the model made of it. */
final class Result {
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

    /** An answer's text on one line. */
    String text(int candidate) {
        Candidate found = answers.candidates.get(candidate);
        return passage.text.substring(found.start, found.end).replaceAll("\\s+", " ").trim();
    }
}
