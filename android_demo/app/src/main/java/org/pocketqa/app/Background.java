package org.pocketqa.app;

import android.os.Handler;
import android.os.Looper;
import android.util.Log;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;

/** One thread beside the main one; its tasks run in order, their outcome comes back on the main thread. */
final class Background {
    /** Work, and what the main thread does with its outcome: exactly one of `done` and `failed` is called. */
    abstract static class Task<T> {
        abstract T work() throws Exception;

        abstract void done(T result);

        abstract void failed(Throwable fault);
    }

    private static final Handler MAIN = new Handler(Looper.getMainLooper());
    private final ExecutorService thread;

    Background(final String name) {
        thread =
                Executors.newSingleThreadExecutor(
                        new ThreadFactory() {
                            @Override
                            public Thread newThread(Runnable work) {
                                return new Thread(work, name);
                            }
                        });
    }

    <T> void run(final Task<T> task) {
        thread.execute(
                new Runnable() {
                    @Override
                    public void run() {
                        perform(task);
                    }
                });
    }

    // A hostile file or a long text can exhaust memory or stack: that ends the task and is told, it does not end the app.
    private static <T> void perform(final Task<T> task) {
        try {
            final T result = task.work();
            onMain(
                    new Runnable() {
                        @Override
                        public void run() {
                            task.done(result);
                        }
                    });
        } catch (final Throwable fault) {
            Log.i("PocketQA", "a task failed", fault);
            onMain(
                    new Runnable() {
                        @Override
                        public void run() {
                            task.failed(fault);
                        }
                    });
        }
    }

    static void onMain(Runnable step) {
        MAIN.post(step);
    }
}
