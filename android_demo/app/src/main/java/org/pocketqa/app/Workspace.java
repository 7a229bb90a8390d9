package org.pocketqa.app;

import android.content.Context;

/** The passage on the desk and what was asked about it. It outlives every screen; main thread only. */
final class Workspace {
    static final int NONE = -1;

    final Listeners listeners = new Listeners();
    private final Context context;
    private final Engine engine;
    private final Settings settings;
    private Passage passage;
    private boolean reading;
    private String notice;
    private Result result;
    private int shown = NONE;
    private boolean unseen;

    Workspace(Context context, Engine engine, Settings settings) {
        this.context = context;
        this.engine = engine;
        this.settings = settings;
    }

    /** Null until the first one is read. */
    Passage passage() {
        return passage;
    }

    /** Is another passage on its way? */
    boolean reading() {
        return reading;
    }

    /** What went wrong with the last text or question, as a sentence; else null. */
    String notice() {
        return notice;
    }

    /** Always about the present passage; null when nothing has been asked about it. */
    Result result() {
        return result;
    }

    /** Index of the candidate to mark in the text, or NONE. */
    int shown() {
        return shown;
    }

    /** True once for each answer that the user should be taken to. */
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

    /** The passage on its way is no longer wanted; the present one stays. */
    void stopReading() {
        reading = false;
        listeners.changed();
    }

    /** Puts a passage in place of the present one; what was asked about that is dropped with it. */
    void setPassage(Passage read) {
        engine.cancel();
        passage = read;
        reading = false;
        clearResult();
        listeners.changed();
    }

    /** The passage on its way did not arrive; the present one stays. */
    void readingFailed(Throwable fault) {
        reading = false;
        setNotice(Sentences.of(context, fault));
    }

    void setNotice(String sentence) {
        notice = sentence;
        listeners.changed();
    }

    /** Asks about the present passage, unless there is none or the engine has other work. True if the question is on its way. */
    boolean ask(String question) {
        if (passage == null || reading || !engine.start(asking(question), outcome())) {
            return false;
        }
        notice = null;
        clearResult();
        listeners.changed();
        return true;
    }

    private void clearResult() {
        result = null;
        shown = NONE;
        unseen = false;
    }

    private Engine.Work<Result> asking(String question) {
        Passage asked = passage;
        boolean readAll = settings.readAll();
        return (model, job) -> model.ask(asked, question, readAll, job);
    }

    private Engine.Outcome<Result> outcome() {
        return new Engine.Outcome<Result>() {
            @Override
            public void done(Result result) {
                answered(result);
            }

            @Override
            public void failed(Throwable fault) {
                setNotice(Sentences.of(context, fault));
            }
        };
    }

    void answered(Result answered) {
        if (answered.passage != passage) {
            return;
        }
        result = answered;
        show(answered.answers.best == null ? NONE : answered.answers.candidates.indexOf(answered.answers.best));
    }

    /** Marks another candidate in the text. */
    void show(int candidate) {
        shown = candidate;
        unseen = candidate != NONE;
        listeners.changed();
    }
}
