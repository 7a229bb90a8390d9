package org.pocketqa.app;

import android.content.Context;
import android.content.res.Resources;
import android.text.format.Formatter;
import android.view.LayoutInflater;
import android.view.View;
import android.view.ViewGroup;
import android.widget.RadioButton;
import android.widget.TextView;
import org.pocketqa.core.StoredModel;

/** One model file: chosen or not, where it is from, its SHA-256, and a way to delete it. */
final class ModelRow {
    private static final double MILLION = 1e6;

    final View view;
    final StoredModel model;
    private final Context context;
    private final RadioButton choose;
    private final TextView details;
    private final TextView sha256;
    private final View delete;

    ModelRow(Context context, ViewGroup parent, StoredModel model, View.OnClickListener chosen, View.OnClickListener deleted) {
        this.context = context;
        this.model = model;
        view = LayoutInflater.from(context).inflate(R.layout.model, parent, false);
        choose = (RadioButton) view.findViewById(R.id.model_choose);
        details = (TextView) view.findViewById(R.id.model_details);
        sha256 = (TextView) view.findViewById(R.id.model_sha256);
        delete = view.findViewById(R.id.model_delete);
        choose.setText(model.name);
        choose.setOnClickListener(chosen);
        delete.setOnClickListener(deleted);
        delete.setContentDescription(context.getString(R.string.delete_label, model.name));
        Screen.setVisible(delete, !model.external);
    }

    void show(EngineState state, ModelHashes hashes) {
        boolean used = state.model != null && state.model.stored.file.equals(model.file);
        boolean free = state.phase != EngineState.Phase.LOADING;
        choose.setChecked(used); // also takes back the mark that a tap sets at once
        choose.setEnabled(free);
        delete.setEnabled(free);
        Screen.setText(details, used ? inUse(state.model) : origin());
        Screen.setText(sha256, hashes.line(model));
    }

    private String origin() {
        String size = Formatter.formatFileSize(context, model.bytes);
        return context.getString(model.external ? R.string.model_pushed : R.string.model_copied, size);
    }

    private String inUse(ModelInfo used) {
        Resources words = context.getResources();
        return words.getString(
                R.string.model_in_use,
                origin(),
                used.name,
                used.precision,
                used.parameters / MILLION,
                words.getQuantityString(R.plurals.threads_used, used.threads, used.threads),
                100 * used.probeDifference);
    }
}
