package org.pocketqa.app;

import android.content.Context;
import android.net.Uri;
import android.os.SystemClock;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CancellationException;
import org.pocketqa.core.CopyProgress;
import org.pocketqa.core.ModelStore;

/** Copies a picked model into the app, one at a time, and hands it to the engine. Main thread; it outlives the screen. */
final class ModelCopier {
    /** One copy under way. */
    final class Job implements CopyProgress {
        private static final long REPORT_MS = 200;

        private final Document document;
        private volatile boolean cancelled;
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

        boolean isCancelled() {
            return cancelled;
        }

        private ModelOrigin receive() throws IOException {
            try (InputStream in = document.open()) { // first of all: the permission to read ends with the screen that got it
                name = document.name();
                total = document.bytes();
                return new CopiedOrigin(store, store.receive(in, this), name);
            }
        }

        @Override
        public void copied(long bytes) {
            if (cancelled) {
                throw new CancellationException();
            }
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
    }

    final Listeners listeners = new Listeners();
    private final Context context;
    private final ModelStore store;
    private final Engine engine;
    private final Background thread = new Background("copies");
    private Job job;

    ModelCopier(Context context, ModelStore store, Engine engine) {
        this.context = context;
        this.store = store;
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
        thread.run(
                new Background.Task<ModelOrigin>() {
                    @Override
                    ModelOrigin work() throws IOException {
                        return started.receive();
                    }

                    @Override
                    void done(ModelOrigin origin) {
                        job = null;
                        if (started.isCancelled()) {
                            origin.reject();
                        } else {
                            engine.load(origin);
                        }
                        listeners.changed();
                    }

                    @Override
                    void failed(Throwable fault) {
                        job = null;
                        if (!started.isCancelled()) {
                            engine.report(new LoadProblem(started.name(), Sentences.of(context, fault)));
                        }
                        listeners.changed();
                    }
                });
        listeners.changed();
    }

    void cancel() {
        if (job != null) {
            job.cancelled = true;
            listeners.changed();
        }
    }
}
