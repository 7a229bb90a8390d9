package org.pocketqa.app;

import android.content.Context;
import android.content.SharedPreferences;
import org.pocketqa.core.Mode;
import org.pocketqa.core.StoredModel;

/** Stored settings: the chosen model, mode and number of threads, the file on which the app ended, and the last answer. */
final class Settings {
    /** File that was being loaded when the app ended, for example by a fault in native code. */
    static final class Ended {
        final String name;
        final String version;
        /** Whether it was loaded with XNNPACK. */
        final boolean xnnpack;

        private Ended(String name, String version, boolean xnnpack) {
            this.name = name;
            this.version = version;
            this.xnnpack = xnnpack;
        }
    }

    private static final String MODEL = "model";
    private static final String THREADS = "threads";
    private static final String LOADING = "loading_model";
    private static final String WITH_XNNPACK = "loading_with_xnnpack";
    private static final String LOADING_VERSION = "loading_version";
    private static final String LOADING_BUILD = "loading_build";
    private static final String SUSPECTED = "suspected";
    private static final String ENDED_WITH_XNNPACK = "ended_with_xnnpack/";
    private static final String REFUSED = "refused/";
    private static final String READ_ALL = "read_all";
    private static final String MODE = "mode";
    private static final String ANSWER = "answer";
    private static final String BUNDLED_TAKEN = "bundled_taken";
    private static final String BUNDLED_SHA256 = "bundled_sha256";
    private static final String BUNDLED_NAME = "bundled_name";
    private static final int DEFAULT_THREADS = 2; // most phones have at least two fast cores

    private final SharedPreferences preferences;
    private final String build;

    Settings(Context context) {
        preferences = context.getSharedPreferences("settings", Context.MODE_PRIVATE);
        build = context.getPackageCodePath(); // changes with each installation
    }

    /** Returns the file name of the model chosen last, or null. */
    String model() {
        return preferences.getString(MODEL, null);
    }

    void setModel(StoredModel model) {
        preferences.edit().putString(MODEL, model.name).apply();
    }

    /** Records that a file is being loaded. Written at once; not on the main thread. */
    void setLoading(StoredModel model, boolean xnnpack) {
        preferences
                .edit()
                .putString(LOADING, model.name)
                .putString(LOADING_VERSION, model.version)
                .putString(LOADING_BUILD, build)
                .putInt(WITH_XNNPACK, xnnpack ? 1 : 0)
                .commit();
    }

    /** Records that the file was loaded or refused. Another file on which the app ended stays suspected. */
    void loaded(StoredModel model) {
        SharedPreferences.Editor edit = preferences.edit().remove(LOADING);
        (suspect(model.name, model.version).equals(preferences.getString(SUSPECTED, null)) ? edit.remove(SUSPECTED) : edit).commit();
    }

    private static String suspect(String name, String version) {
        return name + " " + version;
    }

    /**
     * Returns the file on which the last process ended, or null. Call it at a start.
     *
     * An installation ends the app too, without a fault of the file. A single end may come from the user or the system. Only after
     * the second end in a row may XNNPACK be the reason; this is stored for this version of the file.
     */
    Ended ended() {
        String name = preferences.getString(LOADING, null);
        if (name == null || !build.equals(preferences.getString(LOADING_BUILD, null))) {
            return null;
        }
        String version = preferences.getString(LOADING_VERSION, null);
        boolean xnnpack = preferences.getInt(WITH_XNNPACK, 1) == 1;
        if (xnnpack) {
            String suspect = suspect(name, version);
            boolean again = suspect.equals(preferences.getString(SUSPECTED, null));
            SharedPreferences.Editor edit = preferences.edit().putString(SUSPECTED, suspect);
            (again ? edit.putString(ENDED_WITH_XNNPACK + name, blamed(version)) : edit).apply();
        }
        return new Ended(name, version, xnnpack);
    }

    /** Removes the record, so that the next start does not report it again. */
    void forgetEnded() {
        preferences.edit().remove(LOADING).apply();
    }

    // Another installation may contain another LiteRT that can load the file, or know newer packages.
    private String blamed(String version) {
        return version + " " + build;
    }

    /** Tests whether the app ended twice in a row on this version of a file with XNNPACK. Such a file runs without XNNPACK. */
    boolean endedWithXnnpack(StoredModel model) {
        return blamed(model.version).equals(preferences.getString(ENDED_WITH_XNNPACK + model.name, null));
    }

    /** Tests whether this installation refused this version of a pushed file. */
    boolean refused(String pushed, String version) {
        return blamed(version).equals(preferences.getString(REFUSED + pushed, null));
    }

    void setRefused(String pushed, String version) {
        preferences.edit().putString(REFUSED + pushed, blamed(version)).apply();
    }

    /** Removes a deleted model from the settings, so that the next start does not look for it or report it. */
    void forget(StoredModel deleted) {
        SharedPreferences.Editor edit = preferences.edit().remove(ENDED_WITH_XNNPACK + deleted.name);
        if (deleted.name.equals(model())) {
            edit.remove(MODEL);
        }
        if (deleted.name.equals(preferences.getString(LOADING, null))) {
            edit.remove(LOADING);
        }
        edit.apply();
    }

    int threads() {
        return preferences.getInt(THREADS, DEFAULT_THREADS);
    }

    void setThreads(int threads) {
        preferences.edit().putInt(THREADS, threads).apply();
    }

    /** Tests whether all windows of a long text are read, or only those most similar to the question. */
    boolean readAll() {
        return preferences.getInt(READ_ALL, 0) == 1;
    }

    void setReadAll(boolean all) {
        preferences.edit().putInt(READ_ALL, all ? 1 : 0).apply();
    }

    /** Returns the chosen mode. A model may lack it. */
    Mode mode() {
        return Mode.valueOf(preferences.getString(MODE, Mode.BALANCED.name()));
    }

    void setMode(Mode mode) {
        preferences.edit().putString(MODE, mode.name()).apply();
    }

    /** Returns the answer shown last, as `Workspace` wrote it; null without one. */
    String answer() {
        return preferences.getString(ANSWER, null);
    }

    void setAnswer(String answer) {
        preferences.edit().putString(ANSWER, answer).apply();
    }

    /** Tests whether the bundled model of this installation was imported or left out. */
    boolean bundledTaken() {
        return build.equals(preferences.getString(BUNDLED_TAKEN, null));
    }

    /** Records that the bundled model of this installation was imported or left out. */
    void setBundledTaken() {
        preferences.edit().putString(BUNDLED_TAKEN, build).apply();
    }

    /** Returns the SHA-256 of the bundled model imported last; null before the first. */
    String bundledSha256() {
        return preferences.getString(BUNDLED_SHA256, null);
    }

    /** Returns the file name of the bundled model imported last; null before the first. */
    String bundledName() {
        return preferences.getString(BUNDLED_NAME, null);
    }

    void setBundled(String sha256, StoredModel model) {
        preferences.edit().putString(BUNDLED_SHA256, sha256).putString(BUNDLED_NAME, model.name).apply();
        setBundledTaken();
    }
}
