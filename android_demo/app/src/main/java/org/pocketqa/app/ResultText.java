package org.pocketqa.app;

import android.content.Context;
import android.content.res.Resources;
import org.pocketqa.core.Answers;

/** A result's numbers in words. */
final class ResultText {
    private static final double NANOS_PER_MS = 1e6;

    private ResultText() {}

    static String score(Context context, Result result, int candidate) {
        double score = result.answers.candidates.get(candidate).score;
        return context.getString(R.string.candidate_score, score, 100 * result.probabilities[candidate]);
    }

    /** Windows, milliseconds in all and of each part, model, precision, threads. */
    static String measurements(Context context, Result result) {
        Answers answers = result.answers;
        Resources words = context.getResources();
        return context.getString(
                R.string.measurements,
                words.getQuantityString(R.plurals.windows, answers.windows, answers.windows),
                (answers.tokenizeNanos + answers.inferenceNanos + answers.decodeNanos) / NANOS_PER_MS,
                answers.tokenizeNanos / NANOS_PER_MS,
                answers.inferenceNanos / NANOS_PER_MS,
                answers.decodeNanos / NANOS_PER_MS,
                result.model.facts.name,
                result.model.facts.precision,
                words.getQuantityString(R.plurals.threads_used, result.model.threads, result.model.threads));
    }

    /** Whether the model found an answer, and what it takes to say no. */
    static String verdict(Context context, Result result) {
        if (result.answers.candidates.isEmpty()) {
            return context.getString(R.string.no_candidates);
        }
        String hint = context.getString(R.string.answers_hint);
        return result.answers.best != null
                ? hint
                : context.getString(R.string.no_answer_score, result.answers.nullScore) + "\n" + hint;
    }
}
