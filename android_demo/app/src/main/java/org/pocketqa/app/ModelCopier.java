package org.pocketqa.app;

import android.content.Context;
import android.os.SystemClock;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CancellationException;
import org.pocketqa.core.CopyProgress;
import org.pocketqa.core.ModelFileException;
import org.pocketqa.core.StoredModel;

/** Copies picked, pushed and bundled models into the app, one at a time. Outlives the screen. Main thread only. */
final class ModelCopier {
    /** Listener for the result of a copy, on the main thread. */
    interface Arrival {
        void arrived(StoredModel model);
    }

    /** Running copy. */
    final class Job implements CopyProgress {
        private static final long REPORT_MS = 200;

        private final Incoming incoming;
        private final Arrival arrival;
        private volatile boolean cancelled;
        private volatile InputStream opened;
        private volatile String name;
        private volatile long copied;
        private volatile long total = -1;
        private long reported; // copying thread only

        private StoredModel question;
        private boolean keeping; // too late to cancel

        private Job(Incoming incoming, Arrival arrival) {
            this.incoming = incoming;
            this.arrival = arrival;
            this.name = context.getString(R.string.unnamed_file);
        }

        String name() {
            return name;
        }

        /** Returns the copy that waits until the user agrees to use it; null if none waits. */
        StoredModel question() {
            return question;
        }

        /** Returns the bytes copied so far. */
        long copied() {
            return copied;
        }

        /** Returns the size of the file; -1 if the other app does not know it. */
        long total() {
            return total;
        }

        private File receive() throws IOException {
            try (InputStream in = incoming.open()) { // first, because the permission to read ends with the screen that got it
                // In this order, a cancel before the check stops the copy here, and a later one closes the stream.
                opened = in;
                stopIfCancelled();
                name = incoming.name();
                total = incoming.bytes();
                return folders.store().receive(in, this);
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
                Background.onMain(() -> listeners.changed());
            }
        }

        private void stopIfCancelled() {
            if (cancelled) {
                throw new CancellationException();
            }
        }

        // Closing ends a read that waits for the other app. If it does not, the thread keeps waiting, but nothing depends on it.
        private void cancel() {
            cancelled = true;
            final InputStream in = opened;
            if (in != null) {
                Background.start("close", Background.task(in::close));
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

    /** Returns the running copy, or null. */
    Job job() {
        return job;
    }

    /** Starts to copy a file. Returns false while another is being copied. */
    boolean start(Incoming incoming, Arrival arrival) {
        if (job != null) {
            return false;
        }
        Job started = new Job(incoming, arrival);
        job = started;
        Background.start(
                "copy",
                new Background.Task<StoredModel>() {
                    @Override
                    StoredModel work() throws IOException {
                        return new StoredModel(started.receive());
                    }

                    @Override
                    void done(StoredModel received) {
                        if (job != started) {
                            discard(received.file);
                        } else if (incoming.asks()) {
                            started.question = received;
                            listeners.changed();
                        } else {
                            keep(started, received.file);
                        }
                    }

                    @Override
                    void failed(Throwable fault) {
                        fail(started, fault);
                    }
                });
        listeners.changed();
        return true;
    }

    /** Uses the copy that waits, because the user agrees. */
    void agree() {
        if (job != null && job.question != null) {
            File received = job.question.file;
            job.question = null;
            keep(job, received);
        }
    }

    private void keep(Job copied, File received) {
        copied.keeping = true;
        Background.start(
                "keep",
                new Background.Task<StoredModel>() {
                    @Override
                    StoredModel work() throws IOException {
                        StoredModel kept = folders.store().keep(received);
                        copied.incoming.taken();
                        return kept;
                    }

                    @Override
                    void done(StoredModel kept) {
                        job = null;
                        copied.arrival.arrived(kept);
                        listeners.changed();
                    }

                    @Override
                    void failed(Throwable fault) {
                        fail(copied, fault);
                        discard(received);
                    }
                });
    }

    private void fail(Job failed, Throwable fault) {
        if (job == failed) {
            job = null;
            if (fault instanceof ModelFileException) {
                failed.incoming.refused();
            }
            engine.report(new LoadProblem(failed.name(), Sentences.of(context, fault)));
            listeners.changed();
        }
    }

    private void discard(File received) {
        Background.start("discard", Background.task(() -> folders.store().discard(received)));
    }

    /** Cancels the running copy, if any. Another can be started at once. */
    void cancel() {
        if (job != null && !job.keeping) {
            job.cancel();
            if (job.question != null) {
                discard(job.question.file);
            }
            job = null;
            listeners.changed();
        }
    }
}
