package org.pocketqa.app;

import android.content.Intent;
import android.net.Uri;
import android.os.Bundle;
import android.view.KeyEvent;
import android.view.LayoutInflater;
import android.view.Menu;
import android.view.MenuItem;
import android.view.View;
import android.view.ViewGroup;
import android.view.inputmethod.EditorInfo;
import android.view.inputmethod.InputMethodManager;
import android.widget.Button;
import android.widget.EditText;
import android.widget.Toast;
import java.util.concurrent.Callable;
import org.pocketqa.core.Candidate;
import org.pocketqa.core.Mode;

/** Main screen: passage, question and answer. Shows workspace and engine; its only own state is the typed question. */
public final class MainActivity extends Screen {
    private static final int MOST_QUESTION_LINES = 4;
    private static final int[] THREADS = {1, 2, 4};
    private static final int[] THREAD_ITEMS = {R.id.threads_1, R.id.threads_2, R.id.threads_4};
    private static final Mode[] MODES = {Mode.ANSWERING, Mode.BALANCED, Mode.STRICT};
    private static final int[] MODE_ITEMS = {R.id.mode_answering, R.id.mode_balanced, R.id.mode_strict};

    private static final int[] SCREEN_ITEMS = {R.id.menu_passages, R.id.menu_models, R.id.menu_benchmark};
    private static final Class<?>[] SCREENS = {PassagesActivity.class, ModelsActivity.class, BenchmarkActivity.class};

    private PassageList list;
    private AnswerPanel panel;
    private EditText question;
    private Button ask;

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        show(R.layout.main);
        list = new PassageList(this);
        panel = new AnswerPanel(this);
        prepareQuestion();
        panel.onTaps(
                opens(ModelsActivity.class),
                view -> cancel(),
                opens(AnswersActivity.class));
        showPassage(); // before the list restores its position
        if (saved == null) {
            takeShared(getIntent());
        }
    }

    private void prepareQuestion() {
        question = (EditText) findViewById(R.id.question);
        // Shows several lines. A multi-line input type would turn the keyboard's search key into a line end.
        question.setHorizontallyScrolling(false);
        question.setMaxLines(MOST_QUESTION_LINES);
        question.setOnEditorActionListener(
                (view, action, event) -> {
                    boolean enter = event != null && event.getKeyCode() == KeyEvent.KEYCODE_ENTER;
                    if (action != EditorInfo.IME_ACTION_SEARCH && !enter) {
                        return false;
                    }
                    if (event == null || event.getAction() == KeyEvent.ACTION_DOWN) {
                        ask();
                    }
                    return true;
                });
        ask = (Button) findViewById(R.id.ask);
        ask.setOnClickListener(view -> ask());
    }

    private View.OnClickListener opens(Class<?> other) {
        return view -> open(other);
    }

    private void open(Class<?> other) {
        startActivity(new Intent(this, other));
    }

    @Override
    protected void onNewIntent(Intent intent) {
        super.onNewIntent(intent);
        takeShared(intent);
    }

    private void takeShared(Intent intent) {
        String model = SharedText.wanted(intent);
        if (model != null) {
            app().shelf.want(model);
        }
        Uri file = SharedText.model(intent);
        if (file != null) {
            app().shelf.takeSent(file);
            open(ModelsActivity.class);
        }
        if (!SharedText.isIn(intent)) {
            return;
        }
        Callable<Passage> shared = SharedText.of(this, intent);
        if (shared != null) {
            app().passages.load(shared);
        } else {
            app().workspace.setNotice(getString(R.string.nothing_shared));
        }
    }

    @Override
    Listeners[] sources() {
        return new Listeners[] {
            app().engine.listeners, app().workspace.listeners, app().shelf.listeners, app().copier.listeners
        };
    }

    @Override
    protected void onStart() {
        super.onStart();
        app().shelf.watch();
    }

    @Override
    protected void onStop() {
        app().shelf.unwatch();
        super.onStop();
    }

    /** Returns what the app does before it has a model: empty while it looks for one, null where there is none. */
    private String arriving() {
        ModelCopier.Job copy = app().copier.job();
        return copy != null ? getString(R.string.copying, copy.name()) : app().shelf.listed() ? null : "";
    }

    private void ask() {
        String asked = question.getText().toString().trim();
        if (asked.isEmpty()) {
            question.setError(getString(R.string.question_missing));
            question.requestFocus();
        } else if (app().workspace.ask(asked)) {
            InputMethodManager keyboard = (InputMethodManager) getSystemService(INPUT_METHOD_SERVICE);
            keyboard.hideSoftInputFromWindow(question.getWindowToken(), 0);
        } else {
            boolean none = app().engine.state().phase == EngineState.Phase.NO_MODEL && arriving() == null;
            Toast.makeText(this, none ? R.string.not_yet_model : R.string.not_yet, Toast.LENGTH_LONG).show();
        }
    }

    private void cancel() {
        if (app().engine.state().job != null) {
            app().engine.cancel();
        } else {
            app().passages.cancel();
        }
    }

    @Override
    public void changed() {
        Workspace workspace = app().workspace;
        EngineState state = app().engine.state();
        if (workspace.passage() != list.passage()) {
            showPassage();
            list.scrollToTop();
        }
        askToUse();
        panel.show(workspace, state, arriving());
        ask.setEnabled(state.phase == EngineState.Phase.READY && workspace.passage() != null && !workspace.reading());
        boolean answered = workspace.result() != null && workspace.shown() != Workspace.NONE;
        Candidate shown = answered ? workspace.result().answers.candidates.get(workspace.shown()) : null;
        list.mark(shown);
        if (shown != null && workspace.takeUnseen()) {
            list.scrollTo(shown.start);
        }
    }

    private void showPassage() {
        Passage passage = app().workspace.passage();
        if (passage != null) {
            list.show(passage);
            showSuggestions(passage);
        }
    }

    private void showSuggestions(Passage passage) {
        ViewGroup row = (ViewGroup) findViewById(R.id.suggestions);
        row.removeAllViews();
        Screen.setVisible(findViewById(R.id.suggestions_scroll), !passage.questions.isEmpty());
        for (final String suggested : passage.questions) {
            Button button = (Button) LayoutInflater.from(this).inflate(R.layout.suggestion, row, false);
            button.setText(suggested);
            button.setContentDescription(getString(R.string.suggestion_label, suggested));
            button.setOnClickListener(
                    view -> {
                        question.setText(suggested);
                        question.setSelection(question.length());
                        ask();
                    });
            row.addView(button);
        }
    }

    @Override
    public boolean onCreateOptionsMenu(Menu menu) {
        getMenuInflater().inflate(R.menu.main, menu);
        return true;
    }

    @Override
    public boolean onPrepareOptionsMenu(Menu menu) {
        menu.findItem(R.id.menu_read_all).setChecked(app().settings.readAll());
        ModelInfo model = app().engine.state().model;
        Mode mode = model == null ? app().settings.mode() : model.usable(app().settings.mode());
        for (int i = 0; i < MODES.length; i++) {
            MenuItem item = menu.findItem(MODE_ITEMS[i]);
            item.setChecked(MODES[i] == mode);
            item.setEnabled(model == null || model.usable(MODES[i]) == MODES[i]);
        }
        for (int i = 0; i < THREADS.length; i++) {
            MenuItem item = menu.findItem(THREAD_ITEMS[i]);
            item.setChecked(THREADS[i] == app().engine.threads());
            item.setEnabled(app().engine.state().phase != EngineState.Phase.LOADING);
        }
        return true;
    }

    @Override
    public boolean onOptionsItemSelected(MenuItem item) {
        int id = item.getItemId(); // no switch: ids are not constants in a Gradle build
        for (int i = 0; i < SCREENS.length; i++) {
            if (id == SCREEN_ITEMS[i]) {
                open(SCREENS[i]);
                return true;
            }
        }
        if (id == R.id.menu_read_all) {
            app().settings.setReadAll(!item.isChecked());
            return true;
        }
        for (int i = 0; i < MODES.length; i++) {
            if (id == MODE_ITEMS[i]) {
                app().settings.setMode(MODES[i]);
                return true;
            }
        }
        for (int i = 0; i < THREADS.length; i++) {
            if (id == THREAD_ITEMS[i]) {
                app().engine.setThreads(THREADS[i]);
                return true;
            }
        }
        return super.onOptionsItemSelected(item);
    }
}
