package org.pocketqa.app;

import android.content.Context;
import android.util.Log;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;

/** Reads passages in the background and keeps the last one for the next start. Main thread. */
final class PassageLoader {
    private final Context context;
    private final Workspace workspace;
    private final PassageStore store;
    private final Background thread = new Background("passages");
    private int latest;

    PassageLoader(Context context, Workspace workspace) {
        this.context = context;
        this.workspace = workspace;
        this.store = new PassageStore(new File(context.getFilesDir(), "passage"));
    }

    /** Puts a passage on the desk as soon as it is read. The last call wins, however long each takes. */
    void load(final PassageSource source) {
        read(source, true);
    }

    /** The passage of the last time, else the first bundled one. */
    void restore() {
        read(
                new PassageSource() {
                    @Override
                    public Passage read() throws IOException {
                        try {
                            return store.read();
                        } catch (FileNotFoundException first) {
                            return BundledPassages.read(context).passages.get(0).read();
                        } catch (IOException damaged) {
                            Log.w("PocketQA", "the stored passage is lost", damaged);
                            return BundledPassages.read(context).passages.get(0).read();
                        }
                    }
                },
                false);
    }

    private void read(final PassageSource source, final boolean keep) {
        final int ticket = ++latest;
        workspace.startReading();
        thread.run(
                new Background.Task<Passage>() {
                    @Override
                    Passage work() throws IOException {
                        return source.read();
                    }

                    @Override
                    void done(Passage passage) {
                        if (ticket == latest) {
                            workspace.setPassage(passage);
                            if (keep) {
                                keep(passage);
                            }
                        }
                    }

                    @Override
                    void failed(Throwable fault) {
                        if (ticket == latest) {
                            workspace.readingFailed(fault);
                        }
                    }
                });
    }

    private void keep(final Passage passage) {
        thread.run(
                new Background.Task<Void>() {
                    @Override
                    Void work() throws IOException {
                        store.write(passage);
                        return null;
                    }

                    @Override
                    void done(Void nothing) {}

                    @Override
                    void failed(Throwable fault) {
                        if (workspace.passage() == passage) {
                            workspace.setNotice(context.getString(R.string.notice_not_saved, Sentences.of(context, fault)));
                        }
                    }
                });
    }
}
