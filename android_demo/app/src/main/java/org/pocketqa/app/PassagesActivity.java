package org.pocketqa.app;

import android.content.ClipData;
import android.content.ClipboardManager;
import android.content.Intent;
import android.net.Uri;
import android.os.Bundle;
import android.view.LayoutInflater;
import android.view.View;
import android.view.ViewGroup;
import android.widget.TextView;
import android.widget.Toast;
import java.util.concurrent.Callable;

/** Screen to choose a passage: clipboard, file, or a bundled one. Closes when the chosen passage is read. */
public final class PassagesActivity extends Screen {
    private static final String WAITING = "waiting";
    private boolean waiting; // waits for a passage chosen here; its problems are shown here

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        showScrolling(R.layout.passages);
        showBack();
        waiting = saved != null && PocketQaApp.PROCESS.equals(saved.getString(WAITING));
        findViewById(R.id.paste).setOnClickListener(view -> paste());
        findViewById(R.id.open_text).setOnClickListener(view -> FilePicker.open(this));
        showBundled(); // before the screen restores its position
    }

    private void showBundled() {
        BundledPassages bundled = app().passages.bundled();
        ViewGroup rows = (ViewGroup) findViewById(R.id.bundled);
        if (bundled == null || rows.getChildCount() > 0) {
            return;
        }
        text(R.id.attribution).setText(bundled.attribution);
        for (Passage passage : bundled.passages) {
            addRow(rows, passage);
        }
    }

    private void addRow(ViewGroup rows, Passage passage) {
        View row = LayoutInflater.from(this).inflate(R.layout.bundled_passage, rows, false);
        ((TextView) row.findViewById(R.id.bundled_title)).setText(passage.title);
        ((TextView) row.findViewById(R.id.bundled_beginning)).setText(passage.text);
        row.setOnClickListener(view -> load(() -> passage));
        rows.addView(row);
    }

    private void paste() {
        ClipboardManager clipboard = (ClipboardManager) getSystemService(CLIPBOARD_SERVICE);
        ClipData clip = clipboard.getPrimaryClip();
        CharSequence text = clip != null && clip.getItemCount() > 0 ? clip.getItemAt(0).getText() : null;
        if (text == null || text.toString().trim().isEmpty()) {
            Toast.makeText(this, R.string.clipboard_empty, Toast.LENGTH_LONG).show();
            return;
        }
        load(SharedText.plain(this, R.string.title_pasted, R.string.source_pasted, text));
    }

    @Override
    protected void onActivityResult(int request, int result, Intent data) {
        Uri picked = FilePicker.picked(request, result, data);
        if (picked != null) {
            load(new Document(this, picked)::passage);
        }
    }

    private void load(Callable<Passage> source) {
        waiting = true;
        app().passages.load(source);
    }

    @Override
    protected void onSaveInstanceState(Bundle saved) {
        super.onSaveInstanceState(saved);
        saved.putString(WAITING, waiting ? PocketQaApp.PROCESS : null);
    }

    @Override
    Listeners[] sources() {
        return new Listeners[] {app().workspace.listeners};
    }

    @Override
    public void changed() {
        showBundled();
        Workspace workspace = app().workspace;
        boolean reading = workspace.reading();
        if (waiting && !reading && workspace.notice() == null) {
            finish();
            return;
        }
        String notice = reading ? getString(R.string.notice_reading) : workspace.notice();
        TextView view = text(R.id.passages_notice);
        Screen.setText(view, waiting && notice != null ? notice : "");
        Screen.setVisible(view, view.length() > 0);
    }
}
