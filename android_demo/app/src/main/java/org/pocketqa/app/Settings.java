package org.pocketqa.app;

import android.content.Context;
import android.content.SharedPreferences;
import org.pocketqa.core.StoredModel;

/** What the user chose and the phone remembers: a model, a number of threads, and on which file the app ended. */
final class Settings {
    /** A file that was being loaded when the app ended, as a fault in native code ends it. */
    static final class Ended {
        final String name;
        final String version;
        /** Was it loaded with XNNPACK? */
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
    private static final String BUNDLED_TAKEN = "bundled_taken";
    private static final int DEFAULT_THREADS = 2; // most phones have at least two fast cores

    private final SharedPreferences preferences;
    private final String build;

    Settings(Context context) {
        preferences = context.getSharedPreferences("settings", Context.MODE_PRIVATE);
        build = context.getPackageCodePath(); // another after each installation
    }

    /** File name of the model chosen last, or null. */
    String model() {
        return preferences.getString(MODEL, null);
    }

    void setModel(StoredModel model) {
        preferences.edit().putString(MODEL, model.name).apply();
    }

    /** Written at once; off the main thread. */
    void setLoading(StoredModel model, boolean xnnpack) {
        preferences
                .edit()
                .putString(LOADING, model.name)
                .putString(LOADING_VERSION, model.version)
                .putString(LOADING_BUILD, build)
                .putInt(WITH_XNNPACK, xnnpack ? 1 : 0)
                .commit();
    }

    /** The file is loaded or refused. */
    void loaded() {
        preferences.edit().remove(LOADING).remove(SUSPECTED).commit();
    }

    /**
     * At a start: the file on which the last process ended, or null.
     *
     * An installation ends the app too; of that no file is to blame. Nor is one for a single end, which may have been the user's
     * or the system's: of the second in a row XNNPACK may be the reason, and that is remembered for this version of the file.
     */
    Ended ended() {
        String name = preferences.getString(LOADING, null);
        if (name == null || !build.equals(preferences.getString(LOADING_BUILD, null))) {
            return null;
        }
        String version = preferences.getString(LOADING_VERSION, null);
        boolean xnnpack = preferences.getInt(WITH_XNNPACK, 1) == 1;
        if (xnnpack) {
            String suspect = name + " " + version;
            boolean again = suspect.equals(preferences.getString(SUSPECTED, null));
            SharedPreferences.Editor edit = preferences.edit().putString(SUSPECTED, suspect);
            (again ? edit.putString(ENDED_WITH_XNNPACK + name, blamed(version)) : edit).apply();
        }
        return new Ended(name, version, xnnpack);
    }

    /** The next start is not to hear of it again. */
    void forgetEnded() {
        preferences.edit().remove(LOADING).apply();
    }

    // Another installation may bring another LiteRT, in which the file has a chance of its own.
    private String blamed(String version) {
        return version + " " + build;
    }

    /** Did the app end twice in a row on just this version of a file while XNNPACK was used? Then it is computed without. */
    boolean endedWithXnnpack(StoredModel model) {
        return blamed(model.version).equals(preferences.getString(ENDED_WITH_XNNPACK + model.name, null));
    }

    /** Was just this version of a pushed file found to be no usable model? */
    boolean refused(String pushed, String version) {
        return version.equals(preferences.getString(REFUSED + pushed, null));
    }

    void setRefused(String pushed, String version) {
        preferences.edit().putString(REFUSED + pushed, version).apply();
    }

    /** A deleted model is neither missed nor blamed at the next start. */
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

    /** Is all of a long text read, or only the windows that share most with the question? */
    boolean readAll() {
        return preferences.getInt(READ_ALL, 0) == 1;
    }

    void setReadAll(boolean all) {
        preferences.edit().putInt(READ_ALL, all ? 1 : 0).apply();
    }

    /** Was this installation's own model taken in? Once deleted, it does not come back by itself. */
    boolean bundledTaken() {
        return build.equals(preferences.getString(BUNDLED_TAKEN, null));
    }

    void setBundledTaken() {
        preferences.edit().putString(BUNDLED_TAKEN, build).apply();
    }
}
