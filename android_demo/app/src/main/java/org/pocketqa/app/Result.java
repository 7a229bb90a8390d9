package org.pocketqa.app;

import java.util.HashMap;
import java.util.Map;
import org.pocketqa.core.Answers;
import org.pocketqa.core.Candidate;
import org.pocketqa.core.Fields;
import org.pocketqa.core.ModelFileException;

/** Question with its passage and the answers of the model. */
final class Result {
    private static final int MOST_CHARACTERS = 2000; // limit for the clipboard and for other apps

    final Passage passage;
    final String question;
    final Answers answers;
    final double[] probabilities;
    final String model;
    final String precision;
    final int threads;

    Result(Passage passage, String question, Answers answers, ModelInfo info) {
        this(passage, question, answers, info.facts.name, info.facts.precision, info.threads);
    }

    private Result(Passage passage, String question, Answers answers, String model, String precision, int threads) {
        this.passage = passage;
        this.question = question;
        this.answers = answers;
        this.probabilities = answers.probabilities();
        this.model = model;
        this.precision = precision;
        this.threads = threads;
    }

    /** Returns the result as a JSON object. It identifies the passage by length and hash, because a text can have 20 MB. */
    Map<String, Object> json() {
        Map<String, Object> json = new HashMap<String, Object>();
        json.put("passage_length", passage.text.length());
        json.put("passage_hash", passage.text.hashCode());
        json.put("question", question);
        json.put("answers", answers.toJson());
        json.put("model", model);
        json.put("precision", precision);
        json.put("threads", threads);
        return json;
    }

    /** Returns the result of a JSON object of `json`; null if it is about another passage. */
    static Result of(Fields json, Passage passage) throws ModelFileException {
        int length = json.integer("passage_length", 0, Integer.MAX_VALUE);
        int hash = json.integer("passage_hash", Integer.MIN_VALUE, Integer.MAX_VALUE);
        if (length != passage.text.length() || hash != passage.text.hashCode()) {
            return null;
        }
        Answers answers = Answers.fromJson(json.string("answers"));
        int threads = json.integer("threads", 1, Integer.MAX_VALUE);
        return new Result(passage, json.string("question"), answers, json.string("model"), json.string("precision"), threads);
    }

    /** Returns the text of an answer on one line, shortened if needed: an answer has few tokens, but a token can be very long. */
    String text(int candidate) {
        Candidate found = answers.candidates.get(candidate);
        boolean cut = found.end - found.start > MOST_CHARACTERS;
        int end = cut ? found.start + MOST_CHARACTERS : found.end;
        if (cut && Character.isSurrogatePair(passage.text.charAt(end - 1), passage.text.charAt(end))) {
            end--;
        }
        String text = passage.text.substring(found.start, end);
        return text.replaceAll("\\s+", " ").trim() + (cut ? "…" : "");
    }
}
