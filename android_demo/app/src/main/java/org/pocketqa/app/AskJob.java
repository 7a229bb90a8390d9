package org.pocketqa.app;

import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.pocketqa.core.Progress;

/** Running question: its progress, and a way to cancel it. */
final class AskJob implements Progress {
    private final Runnable report;
    private final AtomicBoolean reporting = new AtomicBoolean();
    private volatile boolean cancelled;
    private volatile LiteRtModel running;
    private volatile int windowsDone;
    private volatile int windows;

    /** Creates a job; `report` runs on the main thread after progress, once for several steps if they come quickly. */
    AskJob(Runnable report) {
        this.report = report;
    }

    /** Connects the model. Called on the engine's thread before the first window. */
    void begin(LiteRtModel model) {
        // In this order, a cancel before the check stops the job here, and a later one reaches the model.
        model.resume();
        running = model;
        stopIfCancelled();
    }

    @Override
    public void windowDone(int done, int total) {
        stopIfCancelled();
        if (total == 0) { // the text is still being tokenized
            return;
        }
        windows = total;
        windowsDone = done;
        if (reporting.compareAndSet(false, true)) {
            Background.onMain(
                    () -> {
                        reporting.set(false);
                        report.run();
                    });
        }
    }

    private void stopIfCancelled() {
        if (cancelled) {
            throw new CancellationException();
        }
    }

    /** Cancels the job; it ends when the model returns. Thread-safe. */
    void cancel() {
        cancelled = true;
        LiteRtModel model = running;
        if (model != null) {
            model.cancel();
        }
    }

    boolean isCancelled() {
        return cancelled;
    }

    int windowsDone() {
        return windowsDone;
    }

    /** Returns the number of windows; 0 until the text is tokenized. */
    int windows() {
        return windows;
    }
}
