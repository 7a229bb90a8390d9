package org.pocketqa.app;

import android.app.Activity;
import android.app.AlertDialog;
import android.app.Dialog;
import android.app.DialogFragment;
import android.content.DialogInterface;
import android.os.Bundle;
import android.text.format.Formatter;
import android.widget.Toast;
import org.pocketqa.core.StoredModel;

/** Asks whether to use a model that another app sent. A fragment, so that it survives a rotation. */
public final class UseModelDialog extends DialogFragment {
    private static final String TAG = "use";
    private static final String MESSAGE = "message";
    private static final String PROCESS = "process";

    /** Shows the question about a received model, once; `replaced` if there is a model of its name. */
    static void ask(Activity screen, StoredModel received, boolean replaced) {
        if (screen.getFragmentManager().findFragmentByTag(TAG) != null) {
            return;
        }
        String bytes = Formatter.formatFileSize(screen, received.bytes);
        String message = screen.getString(R.string.use_question, received.facts.name, received.facts.precision, bytes);
        Bundle arguments = new Bundle();
        arguments.putString(MESSAGE, replaced ? message + " " + screen.getString(R.string.use_replaces) : message);
        arguments.putString(PROCESS, PocketQaApp.PROCESS);
        UseModelDialog dialog = new UseModelDialog();
        dialog.setArguments(arguments);
        dialog.show(screen.getFragmentManager(), TAG);
        screen.getFragmentManager().executePendingTransactions(); // else the next call would not find it, and show another
    }

    @Override
    public Dialog onCreateDialog(Bundle saved) {
        return new AlertDialog.Builder(getActivity())
                .setMessage(getArguments().getString(MESSAGE))
                .setNegativeButton(R.string.cancel, (dialog, button) -> copier().cancel())
                .setPositiveButton(R.string.use, (dialog, button) -> copier().agree())
                .create();
    }

    @Override
    public void onStart() {
        super.onStart();
        ModelCopier.Job copy = copier().job();
        if (copy == null || copy.question() == null) { // it was answered on another screen, or in a process that has ended
            if (!PocketQaApp.PROCESS.equals(getArguments().getString(PROCESS))) {
                Toast.makeText(getActivity(), R.string.fault_gone, Toast.LENGTH_LONG).show();
            }
            dismiss();
        }
    }

    @Override
    public void onCancel(DialogInterface dialog) {
        super.onCancel(dialog);
        copier().cancel();
    }

    private ModelCopier copier() {
        return ((Screen) getActivity()).app().copier;
    }
}
