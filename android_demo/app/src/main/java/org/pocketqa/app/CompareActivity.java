package org.pocketqa.app;

import android.os.Bundle;
import android.view.LayoutInflater;
import android.view.View;
import android.view.ViewGroup;
import android.widget.Button;
import android.widget.TextView;
import java.util.Collections;
import java.util.List;
import org.pocketqa.core.StoredModel;

/** Screen with the answers of two models to the last question. Shows Comparison. */
public final class CompareActivity extends Screen implements Listeners.Listener {
    private List<StoredModel> shown = Collections.emptyList();

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        show(R.layout.compare);
        showBack();
        findViewById(R.id.compare_cancel).setOnClickListener(view -> app().engine.cancel());
    }

    @Override
    protected void onStart() {
        super.onStart();
        app().engine.listeners.add(this);
        app().comparison.listeners.add(this);
        app().shelf.listeners.add(this);
        changed();
    }

    @Override
    protected void onStop() {
        app().engine.listeners.remove(this);
        app().comparison.listeners.remove(this);
        app().shelf.listeners.remove(this);
        super.onStop();
    }

    @Override
    public void changed() {
        Comparison comparison = app().comparison;
        List<Result> results = comparison.results();
        Screen.setText(text(R.id.compare_question), results.isEmpty() ? getString(R.string.compare_hint) : question(results));
        Screen.setText(text(R.id.compare_first), results.isEmpty() ? "" : ResultText.column(this, results.get(0)));
        Screen.setText(text(R.id.compare_second), second(comparison, results));
        Screen.setVisible(findViewById(R.id.compare_cancel), comparison.asking() != null);
        showModels(comparison.others(app().shelf.models()), !results.isEmpty());
        boolean ready = app().engine.state().phase == EngineState.Phase.READY;
        ViewGroup models = (ViewGroup) findViewById(R.id.compare_models);
        for (int i = 0; i < models.getChildCount(); i++) {
            models.getChildAt(i).setEnabled(ready);
        }
    }

    private String question(List<Result> results) {
        return getString(R.string.asked, results.get(0).question);
    }

    private String second(Comparison comparison, List<Result> results) {
        if (comparison.asking() != null) {
            return getString(R.string.working);
        }
        if (comparison.notice() != null) {
            return comparison.notice();
        }
        return results.size() < 2 ? "" : ResultText.column(this, results.get(1));
    }

    private void showModels(List<StoredModel> others, boolean asked) {
        int hint = others.isEmpty() ? R.string.compare_none : R.string.compare_choose;
        Screen.setText(text(R.id.compare_choose), asked ? getString(hint) : "");
        if (ModelShelf.same(shown, others)) { // keep the buttons: new ones would lose a screen reader's focus
            return;
        }
        shown = others;
        ViewGroup rows = (ViewGroup) findViewById(R.id.compare_models);
        rows.removeAllViews();
        for (StoredModel model : others) {
            Button button = (Button) LayoutInflater.from(this).inflate(R.layout.suggestion, rows, false);
            button.setText(ModelText.name(model));
            button.setOnClickListener((View view) -> app().comparison.ask(model));
            rows.addView(button);
        }
    }

    private TextView text(int id) {
        return (TextView) findViewById(id);
    }
}
