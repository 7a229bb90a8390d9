package org.pocketqa.app;

import android.content.Context;
import android.util.Log;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.concurrent.Callable;

/** Reads passages in the background and stores the last one for the next start. Main thread only. */
final class PassageLoader {
    private final Context context;
    private final Workspace workspace;
    private final PassageStore store;
    private final Background own = new Background("passages"); // for the app's own files, which never block
    private BundledPassages bundled;
    private int latest;

    PassageLoader(Context context, Workspace workspace) {
        this.context = context;
        this.workspace = workspace;
        this.store = new PassageStore(context);
    }

    /** Opens a passage as soon as it is read. The last call wins, whatever the order in which they finish. */
    void load(Callable<Passage> source) {
        Background.start("passage", reading(source, true));
    }

    /** Cancels the passage that is being read, if any. The current one stays. */
    void cancel() {
        if (workspace.reading()) {
            latest++;
            workspace.stopReading();
        }
    }

    /** Opens the stored passage, or the first bundled one. */
    void restore() {
        own.run(reading(this::last, false));
        readBundled();
    }

    private Passage last() {
        try {
            return store.read();
        } catch (FileNotFoundException first) {
            return BundledPassages.read(context).passages.get(0);
        } catch (IOException damaged) {
            Log.w("PocketQA", "the stored passage is lost", damaged);
            return BundledPassages.read(context).passages.get(0);
        }
    }

    /** Returns the bundled passages; null until they are read. The workspace's listeners are notified then. */
    BundledPassages bundled() {
        return bundled;
    }

    private void readBundled() {
        own.run(
                new Background.Task<BundledPassages>() {
                    @Override
                    BundledPassages work() {
                        return BundledPassages.read(context);
                    }

                    @Override
                    void done(BundledPassages read) {
                        bundled = read;
                        workspace.listeners.changed();
                    }

                    @Override
                    void failed(Throwable fault) {
                        workspace.setNotice(Sentences.of(context, fault));
                    }
                });
    }

    private Background.Task<Passage> reading(final Callable<Passage> source, final boolean keep) {
        final int ticket = ++latest;
        workspace.startReading();
        return new Background.Task<Passage>() {
            @Override
            Passage work() throws Exception {
                return source.call();
            }

            @Override
            void done(Passage passage) {
                if (ticket == latest) {
                    workspace.setPassage(passage);
                    if (keep) {
                        keep(passage);
                    }
                } else if (!keep && workspace.passage() == null) {
                    workspace.showMeanwhile(passage);
                }
            }

            @Override
            void failed(Throwable fault) {
                if (ticket == latest) {
                    workspace.readingFailed(fault);
                }
            }
        };
    }

    private void keep(final Passage passage) {
        own.run(
                new Background.Task<Void>() {
                    @Override
                    Void work() throws IOException {
                        store.write(passage);
                        return null;
                    }

                    @Override
                    void failed(Throwable fault) {
                        if (workspace.passage() == passage) {
                            workspace.setNotice(context.getString(R.string.notice_not_saved, Sentences.of(context, fault)));
                        }
                    }
                });
    }
}
