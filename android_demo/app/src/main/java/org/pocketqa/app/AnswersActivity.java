package org.pocketqa.app;

import android.os.Bundle;
import android.view.View;
import android.widget.ListView;
import android.widget.TextView;

/** Screen with the n best answers; tapping one shows it in the passage. */
public final class AnswersActivity extends Screen {
    private Result result;

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        show(R.layout.answers);
        showBack();
        result = app().workspace.result();
        if (result == null) { // the app was restarted
            finish();
            return;
        }
        final ListView list = (ListView) findViewById(R.id.candidates);
        View header = getLayoutInflater().inflate(R.layout.answers_header, list, false);
        ((TextView) header.findViewById(R.id.asked)).setText(getString(R.string.asked, result.question));
        ((TextView) header.findViewById(R.id.verdict)).setText(ResultText.verdict(this, result));
        ((TextView) header.findViewById(R.id.measurements)).setText(ResultText.measurements(this, result));
        list.addHeaderView(header, null, false);
        list.setAdapter(new CandidateAdapter(this, result, app().workspace.shown()));
        if (app().workspace.shown() != Workspace.NONE) { // a screen reader calls this row selected
            list.setItemChecked(list.getHeaderViewsCount() + app().workspace.shown(), true);
        }
        list.setOnItemClickListener(
                (parent, view, position, id) -> {
                    app().workspace.show(position - list.getHeaderViewsCount());
                    finish();
                });
    }

    @Override
    Listeners[] sources() {
        return new Listeners[] {app().workspace.listeners};
    }

    /** Closes the screen when another app shared a new text, because these answers are not about it. */
    @Override
    public void changed() {
        if (app().workspace.result() != result) {
            finish();
        }
    }
}
