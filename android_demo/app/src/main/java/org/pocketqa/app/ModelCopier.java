package org.pocketqa.app;

import android.content.Context;
import android.net.Uri;
import android.os.SystemClock;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CancellationException;
import org.pocketqa.core.CopyProgress;

/** Copies a picked model into the app, one at a time, and hands it to the engine. Main thread; it outlives the screen. */
final class ModelCopier {
    /** One copy under way. */
    final class Job implements CopyProgress {
        private static final long REPORT_MS = 200;

        private final Document document;
        private volatile boolean cancelled;
        private volatile InputStream opened;
        private volatile String name;
        private volatile long copied;
        private volatile long total = -1;
        private long reported; // on the copying thread only

        private Job(Document document) {
            this.document = document;
            this.name = context.getString(R.string.unnamed_file);
        }

        String name() {
            return name;
        }

        /** Bytes copied so far. */
        long copied() {
            return copied;
        }

        /** Bytes of the whole file, -1 when the other app does not know. */
        long total() {
            return total;
        }

        private ModelOrigin receive() throws IOException {
            try (InputStream in = document.open()) { // first of all: the permission to read ends with the screen that got it
                // In this order: a cancel before the check stops the copy here, a later one closes the stream.
                opened = in;
                stopIfCancelled();
                name = document.name();
                total = document.bytes();
                return new CopiedOrigin(folders, folders.store().receive(in, this), name);
            } catch (IOException fault) {
                stopIfCancelled(); // a closed stream cannot be read
                throw fault;
            }
        }

        @Override
        public void copied(long bytes) {
            stopIfCancelled();
            copied = bytes;
            long now = SystemClock.uptimeMillis();
            if (now - reported >= REPORT_MS || bytes == total) {
                reported = now;
                Background.onMain(
                        new Runnable() {
                            @Override
                            public void run() {
                                listeners.changed();
                            }
                        });
            }
        }

        private void stopIfCancelled() {
            if (cancelled) {
                throw new CancellationException();
            }
        }

        // Closing ends a read that waits for the other app; where it does not, the thread waits on, and nothing for it.
        private void cancel() {
            cancelled = true;
            final InputStream in = opened;
            if (in != null) {
                Background.start(
                        "close",
                        new Background.Task<Void>() {
                            @Override
                            Void work() throws IOException {
                                in.close();
                                return null;
                            }
                        });
            }
        }
    }

    final Listeners listeners = new Listeners();
    private final Context context;
    private final ModelFolders folders;
    private final Engine engine;
    private Job job;

    ModelCopier(Context context, ModelFolders folders, Engine engine) {
        this.context = context;
        this.folders = folders;
        this.engine = engine;
    }

    /** The copy under way, or null. */
    Job job() {
        return job;
    }

    /** Starts to copy a picked file; nothing while another is being copied. */
    void start(Uri uri) {
        if (job != null) {
            return;
        }
        final Job started = new Job(new Document(context, uri));
        job = started;
        Background.start(
                "copy",
                new Background.Task<ModelOrigin>() {
                    @Override
                    ModelOrigin work() throws IOException {
                        return started.receive();
                    }

                    @Override
                    void done(ModelOrigin origin) {
                        if (job == started) {
                            job = null;
                            engine.load(origin);
                            listeners.changed();
                        } else {
                            reject(origin);
                        }
                    }

                    @Override
                    void failed(Throwable fault) {
                        if (job == started) {
                            job = null;
                            engine.report(new LoadProblem(started.name(), Sentences.of(context, fault)));
                            listeners.changed();
                        }
                    }
                });
        listeners.changed();
    }

    private static void reject(final ModelOrigin cancelled) {
        Background.start(
                "discard",
                new Background.Task<Void>() {
                    @Override
                    Void work() {
                        cancelled.reject();
                        return null;
                    }
                });
    }

    /** Gives up the copy under way, if there is one; another can be started at once. */
    void cancel() {
        if (job != null) {
            job.cancel();
            job = null;
            listeners.changed();
        }
    }
}
