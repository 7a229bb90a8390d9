package org.pocketqa.app;

import android.content.Context;
import org.pocketqa.core.Answers;

/** Formats the numbers of a result. */
final class ResultText {
    private static final double NANOS_PER_MS = 1e6;

    private ResultText() {}

    static String score(Context context, Result result, int candidate) {
        double score = result.answers.candidates.get(candidate).score;
        int words = result.answers.calibrated() ? R.string.candidate_probability : R.string.candidate_score;
        return context.getString(words, score, 100 * result.probabilities[candidate]);
    }

    /** Returns what to say below "no answer": the best candidate, and that the models of PocketQA read English. */
    static String declined(Context context, Result result) {
        return result.answers.candidates.isEmpty()
                ? context.getString(R.string.no_span)
                : context.getString(R.string.not_sure, result.text(0)) + "\n" + context.getString(R.string.reads_english);
    }

    /** Returns lines about tokens of the question and windows that were not read; empty if all were read. */
    static String leftOut(Context context, Answers answers) {
        String question =
                answers.questionTokensRead == answers.questionTokens
                        ? ""
                        : context.getString(R.string.question_cut, answers.questionTokensRead, answers.questionTokens);
        String text =
                answers.windows == answers.windowsInText
                        ? ""
                        : context.getString(R.string.left_out, answers.windows, answers.windowsInText);
        return question + text;
    }

    /** Returns windows, milliseconds in total and per part, model, precision and threads. */
    static String measurements(Context context, Result result) {
        Answers answers = result.answers;
        String text =
                context.getString(
                        R.string.measurements,
                        context.getString(answers.windows == 1 ? R.string.one_window : R.string.windows, answers.windows),
                        (answers.tokenizeNanos + answers.inferenceNanos + answers.decodeNanos) / NANOS_PER_MS,
                        answers.tokenizeNanos / NANOS_PER_MS,
                        answers.inferenceNanos / NANOS_PER_MS,
                        answers.decodeNanos / NANOS_PER_MS,
                        result.model,
                        result.precision,
                        context.getString(result.threads == 1 ? R.string.one_thread : R.string.threads_used, result.threads));
        return leftOut(context, answers) + text;
    }

    /** Returns a hint, with the score of "no answer" if there is none. */
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
