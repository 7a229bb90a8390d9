package org.pocketqa.app;

import android.content.Context;
import android.view.LayoutInflater;
import android.view.View;
import android.view.ViewGroup;
import android.widget.RadioButton;
import android.widget.TextView;
import org.pocketqa.core.StoredModel;

/** List row of a model file: selection, description and a delete button. */
final class ModelRow {
    final View view;
    final StoredModel model;
    private final Context context;
    private final RadioButton choose;
    private final TextView details;
    private final View delete;

    ModelRow(Context context, ViewGroup parent, StoredModel model, int row, View.OnClickListener chosen, View.OnClickListener deleted) {
        this.context = context;
        this.model = model;
        view = LayoutInflater.from(context).inflate(R.layout.model, parent, false);
        choose = (RadioButton) view.findViewById(R.id.model_choose);
        details = (TextView) view.findViewById(R.id.model_details);
        delete = view.findViewById(R.id.model_delete);
        choose.setText(ModelText.name(model));
        choose.setOnClickListener(chosen);
        SingleChoice.item(choose, row);
        delete.setOnClickListener(deleted);
        delete.setContentDescription(context.getString(R.string.delete_label, model.name));
    }

    void show(EngineState state, boolean plain) {
        boolean used = state.uses(model);
        boolean free = state.phase != EngineState.Phase.LOADING;
        choose.setChecked(used); // also resets the mark that a tap sets at once
        choose.setEnabled(free);
        delete.setEnabled(free);
        String text = ModelText.facts(context, model);
        text = plain ? text + "\n" + context.getString(R.string.model_plain) : text;
        Screen.setText(details, used ? text + "\n" + ModelText.inUse(context, state.model) : text);
    }
}
