package org.pocketqa.app;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import android.content.ContentResolver;
import android.content.FakePreferences;
import android.content.res.AssetManager;
import android.net.Uri;
import android.os.Looper;
import android.util.Log;
import android.widget.Toast;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.rules.ExternalResource;
import org.junit.rules.TemporaryFolder;
import org.pocketqa.core.StoredModel;
import org.tensorflow.lite.Interpreter;

/** Phone of one test: folders, preferences, documents of other apps, the app, and the main thread (the test's thread). */
final class Phone extends ExternalResource {
    /** Condition to wait for. */
    interface Condition {
        boolean holds();
    }

    static final long PATIENCE_MS = 10000; // far more than any step needs; only a failing test waits this long

    FakePreferences preferences = new FakePreferences();
    PocketQaApp app;
    String codePath = "/data/app/1/base.apk"; // changes with each installation

    private final TemporaryFolder folder = new TemporaryFolder();
    private final ContentResolver resolver = new ContentResolver();
    private File files;
    private File shared;
    private long pushed; // also the minute of the next pushed file, because versions differ by time
    private int picked;

    @Override
    protected void before() throws IOException {
        folder.create();
        files = folder.newFolder("files");
        shared = folder.newFolder("shared");
        Interpreter.script = new Interpreter.Script();
        Interpreter.MISUSES.clear();
        Log.LOGGED.clear();
        Toast.shown = null;
        AssetManager.model = null;
    }

    @Override
    protected void after() {
        try {
            finish();
            until(() -> Interpreter.open() == (app.engine.state().model == null ? 0 : 1)); // a thread closes a deleted model
            assertEquals(Collections.emptyList(), Interpreter.MISUSES);
        } finally {
            folder.delete();
        }
    }

    /** Starts the app; a second call simulates a new process. Returns when the app has loaded its first model. */
    PocketQaApp start() {
        if (app != null) {
            FakePreferences left = preferences.copy(); // before the tasks that end here, which the next process does not see
            finish();
            preferences = left;
        }
        Looper.prepareMainLooper();
        Interpreter.startProcess();
        app = new PocketQaApp();
        app.files = files;
        app.externalFiles = shared;
        app.preferences = preferences;
        app.resolver = resolver;
        app.codePath = codePath;
        app.onCreate();
        until(() -> app.passages.bundled() != null);
        look();
        return app;
    }

    // No task of a process may run in the next one: if this later passage was read, the earlier one is stored.
    private void finish() {
        app.passages.restore();
        until(() -> !app.workspace.reading() && app.engine.state().job == null && settled());
    }

    private boolean settled() {
        return app.shelf.looks == 0 && app.copier.job() == null && app.engine.state().loading == null;
    }

    /** Returns the app with one pushed model in use. */
    PocketQaApp startWith(byte[] model) throws IOException {
        push("good.tflite", model);
        start();
        assertNotNull(inUse());
        return app;
    }

    /** Runs the main thread until a condition holds. */
    void until(Condition condition) {
        while (!condition.holds()) {
            Runnable step;
            try {
                step = Looper.POSTED.poll(PATIENCE_MS, TimeUnit.MILLISECONDS);
            } catch (InterruptedException unexpected) {
                throw new AssertionError(unexpected);
            }
            assertNotNull("nothing happens any more", step);
            step.run();
        }
    }

    /** Waits for a thread to end, then runs the tasks posted to the main thread. */
    void ended(Thread thread) throws InterruptedException {
        thread.join(PATIENCE_MS);
        assertTrue(thread + " goes on", !thread.isAlive());
        runPosted();
    }

    /** Runs the tasks posted to the main thread until none is left. */
    void runPosted() {
        for (Runnable step = Looper.POSTED.poll(); step != null; step = Looper.POSTED.poll()) {
            step.run();
        }
    }

    /** Puts a complete file into the shared folder; its time differs from every other file's. */
    File push(String name, byte[] content) throws IOException {
        File whole = new File(folder.getRoot(), "whole");
        try (FileOutputStream out = new FileOutputStream(whole)) {
            out.write(content);
        }
        assertTrue(whole.setLastModified(++pushed * 60000));
        File there = new File(shared, name);
        assertTrue(whole.renameTo(there));
        return there;
    }

    /** Returns the file names in the inbox. */
    List<String> inbox() {
        String[] names = shared.list();
        Arrays.sort(names);
        return Arrays.asList(names);
    }

    /** Returns a document of another app, as from the file picker. */
    Uri document(InputStream content, String name) {
        return document(new ContentResolver.Entry(content, name));
    }

    Uri document(byte[] content, String name) {
        return document(new ByteArrayInputStream(content), name);
    }

    Uri document(ContentResolver.Entry entry) {
        return provided("content://documents/" + ++picked, entry);
    }

    /** Returns an address that Android's resolver would open. */
    Uri provided(String address, ContentResolver.Entry entry) {
        Uri uri = Uri.parse(address);
        resolver.put(uri, entry);
        return uri;
    }

    /** Scans the folders and runs all tasks that follow. */
    void look() {
        app.shelf.refresh();
        until(this::settled);
    }

    /** Copies a model of another app and uses it. */
    void take(String name, byte[] content) {
        app.shelf.take(document(content, name));
        until(this::settled);
    }

    /** Tries to use a listed model. */
    void use(String name) {
        app.shelf.use(model(name));
        until(() -> app.engine.state().loading == null);
    }

    StoredModel model(String name) {
        StoredModel model = app.shelf.model(name);
        assertNotNull("no model " + name + " in " + names(), model);
        return model;
    }

    String names() {
        StringBuilder names = new StringBuilder();
        for (StoredModel model : app.shelf.models()) {
            names.append(names.length() == 0 ? "" : " ").append(model.name);
        }
        return names.toString();
    }

    /** Returns the file name of the model in use, or null. */
    String inUse() {
        ModelInfo model = app.engine.state().model;
        return model == null ? null : model.stored.name;
    }

    /** Returns "file: sentence" of the problem shown, or null. */
    String problem() {
        LoadProblem problem = app.engine.state().problem;
        return problem == null ? null : problem.file + ": " + problem.sentence;
    }

    /** Returns the files in the app's private folder for models. */
    List<String> privateFiles() {
        String[] names = new File(files, "models").list();
        String[] sorted = names == null ? new String[0] : names;
        Arrays.sort(sorted);
        return Arrays.asList(sorted);
    }

    File privateFile(String name) {
        return new File(files, name);
    }

    /** Opens a text. */
    void read(String text) {
        app.passages.load(() -> Passage.own("title", "source", text, app.getResources()));
        until(() -> !app.workspace.reading());
    }

    /** Asks a question and returns the answer, or the notice in brackets. */
    String ask(String question) {
        assertTrue(app.workspace.ask(question));
        until(() -> app.engine.state().job == null);
        Workspace workspace = app.workspace;
        return workspace.result() == null ? "[" + workspace.notice() + "]" : workspace.result().text(workspace.shown());
    }
}
