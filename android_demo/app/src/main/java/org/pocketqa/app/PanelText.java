package org.pocketqa.app;

import android.content.res.Resources;

/** Formats notices and the progress of a question. */
final class PanelText {
    private PanelText() {}

    /**
     * Returns a line about the text and a line about the model; empty if there is nothing to report.
     *
     * Without a model, `arriving` is what the app does to have one, or null.
     */
    static String notice(Resources words, Workspace workspace, EngineState state, String arriving) {
        String text = ofText(words, workspace);
        String model = ofModel(words, state, arriving);
        return text.isEmpty() || model.isEmpty() ? text + model : text + "\n" + model;
    }

    private static String ofText(Resources words, Workspace workspace) {
        if (workspace.reading()) {
            return words.getString(R.string.notice_reading);
        }
        if (workspace.notice() != null) {
            return workspace.notice();
        }
        return workspace.passage() == null ? words.getString(R.string.notice_no_text) : "";
    }

    private static String ofModel(Resources words, EngineState state, String arriving) {
        if (state.phase == EngineState.Phase.LOADING) {
            return words.getString(R.string.notice_loading, state.loading);
        }
        if (state.problem != null) {
            return words.getString(R.string.notice_problem, state.problem.file, state.problem.sentence);
        }
        if (state.phase != EngineState.Phase.NO_MODEL) {
            return "";
        }
        return arriving != null ? arriving : words.getString(R.string.notice_no_model);
    }

    /** Returns what the running question does. */
    static String progress(Resources words, AskJob job) {
        int windows = job.windows();
        return windows == 0
                ? words.getString(R.string.working_tokenizing)
                : words.getString(R.string.working_window, Math.min(job.windowsDone() + 1, windows), windows);
    }
}
