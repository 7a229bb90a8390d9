package org.pocketqa.app;

import android.content.Context;
import android.view.LayoutInflater;
import android.view.View;
import android.view.ViewGroup;
import android.widget.ArrayAdapter;
import android.widget.RadioButton;
import android.widget.TextView;
import org.pocketqa.core.Candidate;

/** List rows of the n best answers: text, score, softmax score, and a mark for the one shown in the passage. */
final class CandidateAdapter extends ArrayAdapter<Candidate> {
    private final Result result;
    private final int shown;

    CandidateAdapter(Context context, Result result, int shown) {
        super(context, R.layout.candidate, result.answers.candidates);
        this.result = result;
        this.shown = shown;
    }

    @Override
    public View getView(int row, View used, ViewGroup list) {
        View view = used != null ? used : LayoutInflater.from(getContext()).inflate(R.layout.candidate, list, false);
        ((RadioButton) view.findViewById(R.id.candidate_shown)).setChecked(row == shown);
        ((TextView) view.findViewById(R.id.candidate_text)).setText(result.text(row));
        ((TextView) view.findViewById(R.id.candidate_score)).setText(ResultText.score(getContext(), result, row));
        return view;
    }
}
