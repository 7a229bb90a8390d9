package org.pocketqa.app;

import android.app.Activity;
import android.content.Intent;
import android.content.res.Resources;
import android.view.View;
import android.widget.Button;
import android.widget.ProgressBar;
import android.widget.ScrollView;
import android.widget.TextView;

/** Panel below the passage: notices, progress of the question, and the answer. */
final class AnswerPanel {
    private final Activity screen;
    private final Resources words;
    private final ScrollView scroll;
    private final View noticeBlock;
    private final TextView notice;
    private final View toModels;
    private final View progressBlock;
    private final TextView progressState;
    private final TextView progressText;
    private final ProgressBar progressBar;
    private final View cancel;
    private final View answerBlock;
    private final TextView asked;
    private final TextView answer;
    private final TextView score;
    private final TextView measurements;
    private final Button allAnswers;
    private final View copy;
    private final View share;
    private Result filledFrom;

    AnswerPanel(Activity screen) {
        this.screen = screen;
        words = screen.getResources();
        scroll = (ScrollView) screen.findViewById(R.id.panel);
        noticeBlock = screen.findViewById(R.id.notice_block);
        notice = (TextView) screen.findViewById(R.id.notice);
        toModels = screen.findViewById(R.id.notice_models);
        progressBlock = screen.findViewById(R.id.progress_block);
        progressState = (TextView) screen.findViewById(R.id.progress_state);
        progressText = (TextView) screen.findViewById(R.id.progress_text);
        progressBar = (ProgressBar) screen.findViewById(R.id.progress_bar);
        cancel = screen.findViewById(R.id.cancel);
        answerBlock = screen.findViewById(R.id.answer_block);
        asked = (TextView) screen.findViewById(R.id.asked);
        answer = (TextView) screen.findViewById(R.id.answer);
        score = (TextView) screen.findViewById(R.id.answer_score);
        measurements = (TextView) screen.findViewById(R.id.measurements);
        allAnswers = (Button) screen.findViewById(R.id.all_answers);
        copy = screen.findViewById(R.id.copy_answer);
        share = screen.findViewById(R.id.share_answer);
        copy.setOnClickListener(view -> copyAnswer());
        share.setOnClickListener(view -> shareAnswer());
    }

    /** Listener for taps on the buttons. */
    void onTaps(View.OnClickListener models, View.OnClickListener stop, View.OnClickListener answers) {
        toModels.setOnClickListener(models);
        cancel.setOnClickListener(stop);
        allAnswers.setOnClickListener(answers);
    }

    /** Shows all. `arriving` is what the app does before it has a model, or null where there is none. */
    void show(Workspace workspace, EngineState state, String arriving) {
        showNotice(workspace, state, arriving);
        showProgress(workspace.reading(), state.job);
        showAnswer(workspace.result(), workspace.shown());
    }

    private void showNotice(Workspace workspace, EngineState state, String arriving) {
        String text = PanelText.notice(words, workspace, state, arriving);
        Screen.setText(notice, text);
        Screen.setVisible(noticeBlock, !text.isEmpty());
        Screen.setVisible(toModels, state.problem != null || state.phase == EngineState.Phase.NO_MODEL && arriving == null);
    }

    private void showProgress(boolean reading, AskJob job) {
        Screen.setVisible(progressBlock, reading || job != null);
        Screen.setVisible(progressState, job != null);
        Screen.setVisible(progressText, job != null && !job.isCancelled());
        cancel.setEnabled(job == null || !job.isCancelled());
        if (job == null) { // another app may be slow: the notice says what the app waits for
            Screen.setText(progressState, ""); // so that the next question is announced too
            progressBar.setIndeterminate(true);
            return;
        }
        Screen.setText(progressState, words.getString(job.isCancelled() ? R.string.working_stopping : R.string.working));
        Screen.setText(progressText, PanelText.progress(words, job));
        progressBar.setIndeterminate(job.windows() == 0 || job.isCancelled());
        progressBar.setMax(job.windows());
        progressBar.setProgress(job.windowsDone());
    }

    private void showAnswer(Result result, int shown) {
        Screen.setVisible(answerBlock, result != null);
        if (result != null) {
            int count = result.answers.candidates.size();
            boolean found = shown != Workspace.NONE;
            Screen.setText(asked, words.getString(R.string.asked, result.question));
            Screen.setText(answer, found ? result.text(shown) : words.getString(R.string.no_answer));
            Screen.setVisible(copy, found);
            Screen.setVisible(share, found);
            Screen.setText(score, found ? place(result, shown, count) : ResultText.declined(screen, result));
            Screen.setText(measurements, ResultText.measurements(screen, result));
            Screen.setVisible(allAnswers, count > 0);
            Screen.setText(allAnswers, words.getString(count == 1 ? R.string.one_answer : R.string.all_answers, count));
        } else {
            Screen.setText(answer, ""); // so that an equal answer to the next question is announced again
            Screen.setText(score, "");
        }
        if (result != filledFrom) {
            scroll.scrollTo(0, 0);
        }
        filledFrom = result;
    }

    private void copyAnswer() {
        Screen.copy(screen, asked.getText(), answer.getText());
    }

    private void shareAnswer() {
        String text = words.getString(R.string.shared_answer, filledFrom.question, answer.getText());
        Intent send = new Intent(Intent.ACTION_SEND).setType("text/plain").putExtra(Intent.EXTRA_TEXT, text);
        screen.startActivity(Intent.createChooser(send, words.getString(R.string.share)));
    }

    private String place(Result result, int shown, int count) {
        return words.getString(R.string.candidate_place, ResultText.score(screen, result, shown), shown + 1, count);
    }
}
