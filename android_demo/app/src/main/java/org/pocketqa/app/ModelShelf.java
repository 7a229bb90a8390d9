package org.pocketqa.app;

import android.content.Context;
import android.net.Uri;
import android.widget.Toast;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.pocketqa.core.StoredModel;

/** Models on this phone: lists, selects, imports and deletes them. Main thread only. */
final class ModelShelf {
    private static final long LOOK_MS = 2000;

    /** Result of one scan of the folders. */
    private static final class Look {
        private List<StoredModel> models;
        private final Map<File, String> pushed = new HashMap<File, String>(); // name with version
        private final List<File> settled = new ArrayList<File>(); // complete files
        private String bundled; // SHA-256 of the bundled model; null if there is none or it was imported
    }

    final Listeners listeners = new Listeners();

    private final Context context;
    private final ModelFolders folders;
    private final Engine engine;
    private final ModelCopier copier;
    private final Settings settings;
    private final Background thread = new Background("models");
    private List<StoredModel> models = new ArrayList<StoredModel>();
    private Map<File, String> pushed = new HashMap<File, String>();
    private final Map<File, String> tried = new HashMap<File, String>(); // pushed files whose version is not tried again
    private final Set<File> copied = new HashSet<File>(); // those of them that the app has, though it may not delete them
    private boolean bundledTried;
    private String bundledSha256; // its thread only
    private boolean listed;
    int looks; // scans that were requested and are not done; tests wait for them
    private int watchers;
    private int round; // number of the periodic scan; a new one stops the one before
    private Settings.Ended ended; // until it is reported
    private String wanted; // file name of a model to use as soon as it arrives
    private boolean started; // the model for this start was chosen

    ModelShelf(Context context, ModelFolders folders, Engine engine, ModelCopier copier, Settings settings) {
        this.context = context;
        this.folders = folders;
        this.engine = engine;
        this.copier = copier;
        this.settings = settings;
        ended = settings.ended();
    }

    /** Returns the models found by the last scan. */
    List<StoredModel> models() {
        return models;
    }

    /** Returns false until the first scan. */
    boolean listed() {
        return listed;
    }

    /** Tests whether this file runs without XNNPACK, because XNNPACK crashed the app on it. */
    boolean plain(StoredModel model) {
        return settings.endedWithXnnpack(model);
    }

    /** Called when a screen is shown: scans now and every two seconds, because a file may be pushed at any time. */
    void watch() {
        if (++watchers == 1) {
            tried.keySet().retainAll(copied); // the user may have freed some space for the others
            bundledTried = false;
            lookAndGoOn(++round);
        }
    }

    /** Called when the screen is hidden. */
    void unwatch() {
        watchers--;
    }

    private void lookAndGoOn(int current) {
        if (watchers > 0 && current == round) {
            refresh();
            Background.onMainLater(() -> lookAndGoOn(current), LOOK_MS);
        }
    }

    /** Scans the folders. */
    void refresh() {
        final Map<File, String> before = pushed;
        final boolean bundledTaken = settings.bundledTaken();
        looks++;
        thread.run(
                new Background.Task<Look>() {
                    @Override
                    Look work() {
                        return look(before, bundledTaken);
                    }

                    @Override
                    void done(Look found) {
                        looks--;
                        boolean changed = !listed || !models.equals(found.models);
                        models = found.models;
                        pushed = found.pushed;
                        tried.keySet().retainAll(pushed.keySet()); // a file that was taken in may be pushed again
                        listed = true;
                        takeIn(found);
                        loadOne();
                        if (changed) {
                            listeners.changed();
                        }
                    }

                    @Override
                    void failed(Throwable fault) {
                        looks--;
                        tell(fault);
                    }
                });
    }

    // adb writes under the final name. A file counts as complete if it is two seconds old or unchanged since the last scan.
    private Look look(Map<File, String> before, boolean bundledTaken) {
        Look look = new Look();
        look.models = folders.store().list();
        for (File file : folders.store().pushed()) {
            String version = StoredModel.version(file);
            look.pushed.put(file, version);
            boolean old = System.currentTimeMillis() - file.lastModified() > LOOK_MS;
            if (old || version.equals(before.get(file))) {
                look.settled.add(file);
            }
        }
        if (!bundledTaken) {
            bundledSha256 = bundledSha256 != null ? bundledSha256 : new BundledModel(context).sha256();
            look.bundled = bundledSha256;
        }
        return look;
    }

    // One at a time: each copy scans again when it ends.
    private void takeIn(Look found) {
        for (final File file : found.settled) {
            final String version = found.pushed.get(file);
            boolean refused = settings.refused(file.getPath(), version);
            if (copier.job() == null && !refused && !version.equals(tried.get(file))) {
                tried.put(file, version);
                copied.remove(file);
                copier.start(
                        new PushedFile(file, version, () -> settings.setRefused(file.getPath(), version)),
                        model -> {
                            copied.add(file);
                            arrived(model);
                        });
            }
        }
        if (found.bundled != null && copier.job() == null && !settings.bundledTaken()) {
            takeBundled(found.bundled);
        }
    }

    // At the first start, a bundled model is imported if there is no other. After an update of the app, another bundled model is
    // imported unless the user deleted the one before; it is used if the one before was.
    private void takeBundled(String sha256) {
        final String before = settings.bundledName();
        boolean first = before == null && models.isEmpty() && settings.model() == null;
        boolean newer = before != null && !sha256.equals(settings.bundledSha256()) && model(before) != null;
        if ((first || newer) && !bundledTried) {
            bundledTried = true;
            copier.start(
                    new BundledModel(context),
                    model -> {
                        boolean use = before != null && before.equals(settings.model());
                        settings.setBundled(sha256, model);
                        if (use) {
                            load(model);
                            refresh();
                        } else {
                            arrived(model);
                        }
                    });
        } else if (before != null && !newer) {
            settings.setBundledTaken();
        }
    }

    /** Returns the model of this file name; null if there is none. */
    StoredModel model(String name) {
        for (StoredModel model : models) {
            if (model.name.equals(name)) {
                return model;
            }
        }
        return null;
    }

    // A pushed model is used if it was requested, if it replaces the one in use or being loaded, or if there is none.
    private void arrived(StoredModel model) {
        ModelInfo used = engine.state().model;
        boolean replaces = used != null && used.stored.file.equals(model.file) || model.name.equals(engine.state().loading);
        if (replaces || model.name.equals(wanted) || engine.state().phase == EngineState.Phase.NO_MODEL) {
            load(model);
        } else {
            settle(model);
        }
        refresh();
    }

    // What is not loaded now replaces a model of its name at once: that one is not in use.
    private void settle(StoredModel model) {
        thread.run(Background.task(() -> folders.store().settle(model, true)));
    }

    /** Copies a picked file and uses it. Shows a message while another file is being copied. */
    void take(Uri picked) {
        take(new Document(context, picked));
    }

    /** Copies a file that another app sent, and uses it when the user agrees (ModelCopier.Job.question). */
    void takeSent(Uri sent) {
        take(new Document(context, sent, true));
    }

    private void take(Document document) {
        boolean started =
                copier.start(
                        document,
                        model -> {
                            use(model);
                            refresh();
                        });
        if (!started) {
            Toast.makeText(context, context.getString(R.string.copy_busy), Toast.LENGTH_LONG).show();
        }
    }

    /** Uses the model of this file name, now or as soon as it arrives. */
    void want(String name) {
        StoredModel model = model(name);
        if (model != null && !engine.state().uses(model)) {
            use(model);
        }
        wanted = name; // after use(), which forgets it: a newer file of this name may be on its way
    }

    // At a start: loads the model chosen last, or the only one. If XNNPACK crashed the app on it, it is tried once more without
    // XNNPACK. If that crashed too, it is not loaded, because it would crash again.
    private void loadOne() {
        if (started || engine.state().phase != EngineState.Phase.NO_MODEL) {
            return;
        }
        String chosen = settings.model();
        StoredModel only = models.size() == 1 ? models.get(0) : null;
        StoredModel first = chosen == null ? only : model(chosen);
        started = first != null || chosen != null;
        Settings.Ended last = ended;
        ended = null;
        boolean sameName = first != null && last != null && first.name.equals(last.name);
        boolean again = sameName && first.version.equals(last.version);
        boolean blamed = again && !last.xnnpack;
        if (!blamed) { // otherwise the next start must know it too
            settings.forgetEnded();
        }
        if (first != null && !blamed) {
            engine.load(first);
        }
        if (last != null && !(again && last.xnnpack)) {
            int fault = sameName && !again ? R.string.fault_replacement : R.string.fault_ended;
            engine.report(new LoadProblem(last.name, context.getString(fault)));
        } else if (first == null && chosen != null) {
            engine.report(new LoadProblem(chosen, context.getString(R.string.fault_gone)));
        }
    }

    void use(StoredModel model) {
        wanted = null;
        load(model);
    }

    // Another model may still be wanted, and on its way.
    private void load(StoredModel model) {
        started = true;
        if (model.name.equals(wanted)) {
            wanted = null;
        }
        engine.load(model);
    }

    /** Deletes a model. If it is in use, the engine has no model then. */
    void delete(final StoredModel model) {
        thread.run(
                new Background.Task<Void>() {
                    @Override
                    Void work() throws IOException {
                        folders.store().delete(model);
                        return null;
                    }

                    @Override
                    void done(Void nothing) {
                        started = true;
                        settings.forget(model);
                        engine.unload(model);
                        refresh();
                    }

                    @Override
                    void failed(Throwable fault) {
                        tell(fault);
                        refresh();
                    }
                });
    }

    private void tell(Throwable fault) {
        Toast.makeText(context, Sentences.of(context, fault), Toast.LENGTH_LONG).show();
    }
}
