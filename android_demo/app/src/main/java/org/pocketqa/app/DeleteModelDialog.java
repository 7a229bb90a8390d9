package org.pocketqa.app;

import android.app.Activity;
import android.app.AlertDialog;
import android.app.Dialog;
import android.app.DialogFragment;
import android.os.Bundle;
import org.pocketqa.core.StoredModel;

/** Asks for confirmation before a model is deleted. A fragment, so that it survives a rotation. */
public final class DeleteModelDialog extends DialogFragment {
    private static final String NAME = "name";

    static void ask(Activity screen, StoredModel model) {
        if (screen.getFragmentManager().findFragmentByTag(NAME) != null) { // a second tap
            return;
        }
        Bundle arguments = new Bundle();
        arguments.putString(NAME, model.name);
        DeleteModelDialog dialog = new DeleteModelDialog();
        dialog.setArguments(arguments);
        dialog.show(screen.getFragmentManager(), NAME);
    }

    @Override
    public Dialog onCreateDialog(Bundle saved) {
        final String name = getArguments().getString(NAME);
        return new AlertDialog.Builder(getActivity())
                .setMessage(getString(R.string.delete_question, name))
                .setNegativeButton(R.string.cancel, null)
                .setPositiveButton(
                        R.string.delete,
                        (dialog, button) -> ((ModelsActivity) getActivity()).delete(name))
                .create();
    }
}
