package org.pocketqa.app;

import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.pocketqa.core.Progress;

/** One question under way: how far it is, and the way to stop it. */
final class AskJob implements Progress {
    private final Runnable report;
    private final AtomicBoolean reporting = new AtomicBoolean();
    private volatile boolean cancelled;
    private volatile LiteRtModel running;
    private volatile int windowsDone;
    private volatile int windows;

    /** `report` runs on the main thread after progress, at most once for what piled up meanwhile. */
    AskJob(Runnable report) {
        this.report = report;
    }

    /** Called on the engine's thread before the first window. */
    void begin(LiteRtModel model) {
        // In this order: a cancel that comes before the check stops the job here, one that comes after it reaches the model.
        model.resume();
        running = model;
        stopIfCancelled();
    }

    @Override
    public void windowDone(int done, int total) {
        stopIfCancelled();
        if (total == 0) { // the text is still being split into tokens
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

    /** Stops it as soon as the model lets go; from any thread. */
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

    /** 0 until the text is split into tokens. */
    int windows() {
        return windows;
    }
}
