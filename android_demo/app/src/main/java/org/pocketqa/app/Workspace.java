package org.pocketqa.app;

import android.content.Context;
import android.util.Log;
import java.util.Map;
import org.pocketqa.core.Fields;
import org.pocketqa.core.Json;
import org.pocketqa.core.Mode;
import org.pocketqa.core.ModelFileException;

/** Current passage, with its question and answers. Outlives every screen. Main thread only. */
final class Workspace {
    static final int NONE = -1;

    final Listeners listeners = new Listeners();
    private final Context context;
    private final Engine engine;
    private final Settings settings;
    private Passage passage;
    private AskJob job; // of the last question; it may have ended
    private boolean reading;
    private String notice;
    private Result result;
    private int shown = NONE;
    private boolean unseen;
    private String waiting; // answer of an earlier process, until its passage is read

    Workspace(Context context, Engine engine, Settings settings) {
        this.context = context;
        this.engine = engine;
        this.settings = settings;
        waiting = settings.answer();
    }

    /** Returns the passage; null until the first one is read. */
    Passage passage() {
        return passage;
    }

    /** Tests whether another passage is being read. */
    boolean reading() {
        return reading;
    }

    /** Returns the problem with the last text or question, as a sentence, or null. */
    String notice() {
        return notice;
    }

    /** Returns the result for the current passage; null if no question was asked. */
    Result result() {
        return result;
    }

    /** Returns the index of the candidate to mark in the text, or NONE. */
    int shown() {
        return shown;
    }

    /** Returns true once for each answer to which the screen should scroll. */
    boolean takeUnseen() {
        boolean was = unseen;
        unseen = false;
        return was;
    }

    void startReading() {
        reading = true;
        notice = null;
        listeners.changed();
    }

    /** Records that the passage being read was cancelled. The current one stays. */
    void stopReading() {
        reading = false;
        listeners.changed();
    }

    /** Replaces the passage, and drops the question and answers about the old one. */
    void setPassage(Passage read) {
        reading = false;
        showMeanwhile(read);
    }

    /** Replaces the passage too, but another one may still be read. */
    void showMeanwhile(Passage read) {
        if (engine.state().job == job) { // not a benchmark
            engine.cancel();
        }
        passage = read;
        clearResult();
        showWaiting();
        listeners.changed();
    }

    /** Records that the passage could not be read. The current one stays. */
    void readingFailed(Throwable fault) {
        reading = false;
        setNotice(Sentences.of(context, fault));
    }

    void setNotice(String sentence) {
        notice = sentence;
        listeners.changed();
    }

    /** Asks about the current passage. Returns false if there is none or the engine is busy. */
    boolean ask(String question) {
        AskJob started = passage == null || reading ? null : engine.start(asking(question), outcome());
        if (started == null) {
            return false;
        }
        job = started;
        notice = null;
        clearResult();
        listeners.changed();
        return true;
    }

    // The process may end at any time in the background, so an answer is stored when it arrives.
    private void store() {
        Map<String, Object> json = result.json();
        json.put("shown", shown);
        settings.setAnswer(Json.write(json));
    }

    // The answer of an earlier process is shown with the first passage, if it is about that.
    private void showWaiting() {
        if (waiting == null) {
            return;
        }
        try {
            Fields json = Fields.parse("the stored answer", waiting);
            Result restored = Result.of(json, passage);
            if (restored != null) {
                int candidate = json.integer("shown", NONE, restored.answers.candidates.size() - 1);
                result = restored;
                show(candidate);
            }
        } catch (ModelFileException damaged) {
            Log.w("PocketQA", "the stored answer is lost", damaged);
        }
        waiting = null;
    }

    private void clearResult() {
        result = null;
        shown = NONE;
        unseen = false;
        settings.setAnswer(null);
    }

    private Engine.Work<Result> asking(String question) {
        Passage asked = passage;
        boolean readAll = settings.readAll();
        Mode mode = settings.mode();
        return (model, job) -> model.ask(asked, question, readAll, mode, job);
    }

    private Engine.Outcome<Result> outcome() {
        return new Engine.Outcome<Result>() {
            @Override
            public void done(Result answered) {
                result = answered;
                show(answered.answers.best == null ? NONE : answered.answers.candidates.indexOf(answered.answers.best));
            }

            @Override
            public void failed(Throwable fault) {
                setNotice(Sentences.of(context, fault));
            }
        };
    }

    /** Marks another candidate in the text. */
    void show(int candidate) {
        shown = candidate;
        unseen = candidate != NONE;
        store();
        listeners.changed();
    }
}
