package org.pocketqa.app;

import android.app.Activity;
import android.content.ClipData;
import android.content.ClipboardManager;
import android.content.Context;
import android.os.Build;
import android.view.MenuItem;
import android.view.View;
import android.view.ViewGroup;
import android.widget.TextView;
import android.widget.Toast;
import android.widget.Toolbar;

/** Base of all screens: a toolbar, readable system bars, and `changed` while the screen is visible. */
abstract class Screen extends Activity implements Listeners.Listener {
    private static final int LAST_SILENT_SDK = 32; // Android 12L
    private static final int DARK_ICONS_SDK = 26; // the first version with dark icons in the navigation bar
    private static final int LIGHT_NAVIGATION_BAR = 0x10; // View.SYSTEM_UI_FLAG_LIGHT_NAVIGATION_BAR

    PocketQaApp app() {
        return (PocketQaApp) getApplication();
    }

    /** Sets the layout, which needs a view `toolbar` and a root with fitsSystemWindows. */
    void show(int layout) {
        setContentView(layout);
        setActionBar((Toolbar) findViewById(R.id.toolbar));
        if (Build.VERSION.SDK_INT >= DARK_ICONS_SDK && getResources().getBoolean(R.bool.dark_bar_icons)) {
            getWindow().setNavigationBarColor(getColor(R.color.surface)); // otherwise black; no effect from SDK 35 on
            View decor = getWindow().getDecorView();
            decor.setSystemUiVisibility(decor.getSystemUiVisibility() | LIGHT_NAVIGATION_BAR);
        }
    }

    /** Sets a layout, whose root is a merge, to scroll below the toolbar. */
    void showScrolling(int layout) {
        show(R.layout.frame);
        getLayoutInflater().inflate(layout, (ViewGroup) findViewById(R.id.content));
    }

    TextView text(int id) {
        return (TextView) findViewById(id);
    }

    /** Returns what the screen shows: it is told of changes there while it is visible. */
    abstract Listeners[] sources();

    @Override
    protected void onStart() {
        super.onStart();
        for (Listeners source : sources()) {
            source.add(this);
        }
        changed();
    }

    @Override
    protected void onStop() {
        for (Listeners source : sources()) {
            source.remove(this);
        }
        super.onStop();
    }

    /** Asks whether to use a model that another app sent, once its copy waits for that. */
    void askToUse() {
        ModelCopier.Job copy = app().copier.job();
        if (copy != null && copy.question() != null) {
            UseModelDialog.ask(this, copy.question(), app().shelf.model(copy.question().facts.fileName()) != null);
        }
    }

    /** Adds the arrow that leads back to the main screen. */
    void showBack() {
        getActionBar().setDisplayHomeAsUpEnabled(true);
    }

    @Override
    public boolean onOptionsItemSelected(MenuItem item) {
        if (item.getItemId() == android.R.id.home) {
            finish();
            return true;
        }
        return super.onOptionsItemSelected(item);
    }

    /** Copies a text to the clipboard, and shows a message if the system does not. */
    static void copy(Context context, CharSequence label, CharSequence text) {
        ClipboardManager clipboard = (ClipboardManager) context.getSystemService(CLIPBOARD_SERVICE);
        clipboard.setPrimaryClip(ClipData.newPlainText(label, text));
        if (Build.VERSION.SDK_INT <= LAST_SILENT_SDK) {
            Toast.makeText(context, R.string.copied, Toast.LENGTH_SHORT).show();
        }
    }

    static void setVisible(View view, boolean visible) {
        view.setVisibility(visible ? View.VISIBLE : View.GONE);
    }

    /** Sets a text only if it differs, because a screen reader would announce a live region again. */
    static void setText(TextView view, CharSequence text) {
        if (!text.toString().contentEquals(view.getText())) {
            view.setText(text);
        }
    }
}
