package org.pocketqa.app;

import android.content.Intent;
import android.net.Uri;
import android.os.Bundle;
import android.text.format.Formatter;
import android.view.View;
import android.view.ViewGroup;
import android.widget.ProgressBar;
import android.widget.ScrollView;
import java.io.File;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.pocketqa.core.StoredModel;

/** Screen with the model files: selection, import and problems. Shows shelf, copier and engine. */
public final class ModelsActivity extends Screen {
    private static final int PER_MILLE = 1000; // the size of a large file exceeds an int

    private final List<ModelRow> rows = new ArrayList<ModelRow>();
    private List<StoredModel> shown = Collections.emptyList();
    private LoadProblem seen;

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        showScrolling(R.layout.models);
        showBack();
        onTap(R.id.choose_file, view -> FilePicker.open(this));
        onTap(R.id.busy_cancel, view -> app().copier.cancel());
        onTap(R.id.problem_dismiss, view -> app().engine.report(null));
    }

    private void onTap(int id, View.OnClickListener listener) {
        findViewById(id).setOnClickListener(listener);
    }

    @Override
    protected void onActivityResult(int request, int result, Intent data) {
        Uri picked = FilePicker.picked(request, result, data);
        if (picked != null) {
            app().shelf.take(picked);
        }
    }

    @Override
    Listeners[] sources() {
        return new Listeners[] {app().engine.listeners, app().shelf.listeners, app().copier.listeners};
    }

    @Override
    protected void onStart() {
        super.onStart();
        app().shelf.watch();
    }

    @Override
    protected void onStop() {
        app().shelf.unwatch();
        super.onStop();
    }

    @Override
    public void changed() {
        EngineState state = app().engine.state();
        showProblem(state);
        showBusy(state, app().copier.job());
        askToUse();
        showModels(state);
        showPushHint();
    }

    private void showProblem(EngineState state) {
        LoadProblem problem = state.problem;
        Screen.setVisible(findViewById(R.id.problem_panel), problem != null);
        if (problem != null) {
            Screen.setText(text(R.id.problem_file), problem.file);
            Screen.setText(text(R.id.problem_sentence), problem.sentence);
            boolean used = state.model != null;
            String kept = used ? getString(R.string.still_in_use, state.model.stored.name) : getString(R.string.none_in_use);
            Screen.setText(text(R.id.problem_kept), kept);
        }
        if (problem != null && problem != seen) {
            ((ScrollView) findViewById(R.id.frame_scroll)).smoothScrollTo(0, 0);
        }
        seen = problem;
    }

    private void showBusy(EngineState state, ModelCopier.Job copy) {
        Screen.setVisible(findViewById(R.id.busy_panel), copy != null || state.loading != null);
        Screen.setVisible(findViewById(R.id.busy_bytes), copy != null);
        Screen.setVisible(findViewById(R.id.busy_cancel), copy != null);
        findViewById(R.id.choose_file).setEnabled(copy == null);
        ProgressBar bar = (ProgressBar) findViewById(R.id.busy_bar);
        if (copy != null) {
            boolean whole = copy.copied() == copy.total();
            Screen.setText(text(R.id.busy_text), getString(whole ? R.string.copy_checking : R.string.copying, copy.name()));
            Screen.setText(text(R.id.busy_bytes), bytes(copy));
            bar.setIndeterminate(copy.total() <= 0 || whole);
            bar.setMax(PER_MILLE);
            bar.setProgress((int) (PER_MILLE * copy.copied() / Math.max(copy.total(), 1)));
        } else if (state.loading != null) {
            Screen.setText(text(R.id.busy_text), getString(R.string.notice_loading, state.loading));
            bar.setIndeterminate(true);
        }
    }

    private String bytes(ModelCopier.Job copy) {
        String copied = Formatter.formatFileSize(this, copy.copied());
        return copy.total() <= 0 ? copied : getString(R.string.copied_of, copied, Formatter.formatFileSize(this, copy.total()));
    }

    private void showModels(EngineState state) {
        List<StoredModel> models = app().shelf.models();
        if (!shown.equals(models)) { // otherwise keep the rows: new ones would lose a screen reader's focus
            fillRows(models);
        }
        Screen.setVisible(findViewById(R.id.no_models), app().shelf.listed() && models.isEmpty());
        for (ModelRow row : rows) {
            row.show(state, app().shelf.plain(row.model));
        }
    }

    private void showPushHint() {
        if (app().shelf.listed()) { // the folder is unknown before that
            File folder = app().folders.pushFolder();
            String hint = folder == null ? getString(R.string.push_impossible) : getString(R.string.push_hint, folder.getPath());
            Screen.setText(text(R.id.push_hint), hint);
        }
    }

    private void fillRows(List<StoredModel> models) {
        ViewGroup parent = (ViewGroup) findViewById(R.id.models);
        parent.removeAllViews();
        rows.clear();
        shown = models;
        SingleChoice.group(parent, models.size());
        for (final StoredModel model : models) {
            ModelRow row =
                    new ModelRow(
                            this,
                            parent,
                            model,
                            rows.size(),
                            view -> choose(model),
                            view -> DeleteModelDialog.ask(ModelsActivity.this, model));
            parent.addView(row.view);
            rows.add(row);
        }
    }

    private void choose(StoredModel model) {
        if (!app().engine.state().uses(model)) {
            app().shelf.use(model);
        }
    }

    /** Deletes the copied model of this name; called by the dialog. */
    void delete(String name) {
        StoredModel model = app().shelf.model(name);
        if (model != null) {
            app().shelf.delete(model);
        }
    }
}
