package org.pocketqa.app;

import android.os.Handler;
import android.os.Looper;
import android.util.Log;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Background thread. Runs tasks in order and reports their results on the main thread. */
final class Background {
    /** Task, and what the main thread does with its result: exactly one of `done` and `failed` is called. */
    abstract static class Task<T> {
        abstract T work() throws Exception;

        void done(T result) {}

        void failed(Throwable fault) {}
    }

    /** Work without a result. */
    interface Step {
        void run() throws Exception;
    }

    private static final Handler MAIN = new Handler(Looper.getMainLooper());
    private final ExecutorService thread;

    Background(final String name) {
        thread =
                Executors.newSingleThreadExecutor(work -> new Thread(work, name));
    }

    /** Returns a task of which nothing is reported. */
    static Task<Void> task(Step step) {
        return new Task<Void>() {
            @Override
            Void work() throws Exception {
                step.run();
                return null;
            }
        };
    }

    <T> void run(Task<T> task) {
        thread.execute(performing(task));
    }

    /** Runs a task on a separate thread, because it may wait for another app. */
    static <T> void start(String name, Task<T> task) {
        new Thread(performing(task), name).start();
    }

    private static <T> Runnable performing(final Task<T> task) {
        return () -> perform(task);
    }

    // A hostile file or a long text can exhaust memory or stack. This fails the task, not the app.
    private static <T> void perform(final Task<T> task) {
        try {
            final T result = task.work();
            onMain(() -> task.done(result));
        } catch (final Throwable fault) {
            if (!(fault instanceof CancellationException)) { // the user requested it
                Log.i("PocketQA", "a task failed", fault);
            }
            onMain(() -> task.failed(fault));
        }
    }

    static void onMain(Runnable step) {
        MAIN.post(step);
    }

    static void onMainLater(Runnable step, long milliseconds) {
        MAIN.postDelayed(step, milliseconds);
    }
}
