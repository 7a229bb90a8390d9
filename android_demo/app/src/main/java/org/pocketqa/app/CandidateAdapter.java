package org.pocketqa.app;

import android.content.Context;
import android.view.LayoutInflater;
import android.view.View;
import android.view.ViewGroup;
import android.widget.BaseAdapter;
import android.widget.RadioButton;
import android.widget.TextView;

/** List rows of the n best answers: text, score, softmax score, and a mark for the one shown in the passage. */
final class CandidateAdapter extends BaseAdapter {
    private final Context context;
    private final Result result;
    private final int shown;

    CandidateAdapter(Context context, Result result, int shown) {
        this.context = context;
        this.result = result;
        this.shown = shown;
    }

    @Override
    public int getCount() {
        return result.answers.candidates.size();
    }

    @Override
    public Object getItem(int row) {
        return result.answers.candidates.get(row);
    }

    @Override
    public long getItemId(int row) {
        return row;
    }

    @Override
    public View getView(int row, View used, ViewGroup list) {
        View view = used != null ? used : LayoutInflater.from(context).inflate(R.layout.candidate, list, false);
        ((RadioButton) view.findViewById(R.id.candidate_shown)).setChecked(row == shown);
        ((TextView) view.findViewById(R.id.candidate_text)).setText(result.text(row));
        ((TextView) view.findViewById(R.id.candidate_score)).setText(ResultText.score(context, result, row));
        return view;
    }
}
