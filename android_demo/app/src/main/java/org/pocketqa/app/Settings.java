package org.pocketqa.app;

import android.content.Context;
import android.content.SharedPreferences;
import org.pocketqa.core.StoredModel;

/** What the user chose and the phone remembers: a model and a number of threads. */
final class Settings {
    private static final String MODEL = "model";
    private static final String THREADS = "threads";
    private static final String LOADING = "loading_model";
    private static final int DEFAULT_THREADS = 2; // most phones have at least two fast cores

    private final SharedPreferences preferences;

    Settings(Context context) {
        preferences = context.getSharedPreferences("settings", Context.MODE_PRIVATE);
    }

    /** Where a model lies and its name: folders may move with an update of the system, this does not. */
    static String key(StoredModel model) {
        return (model.external ? "pushed/" : "copied/") + model.name;
    }

    /** The same for a file that has no place yet. */
    static String keyOfNew(String displayName) {
        return "new/" + displayName;
    }

    /** The file's name in a key. */
    static String name(String key) {
        return key.substring(key.indexOf('/') + 1);
    }

    /** Key of the model chosen last, or null. */
    String model() {
        return preferences.getString(MODEL, null);
    }

    void setModel(StoredModel model) {
        preferences.edit().putString(MODEL, key(model)).apply();
    }

    /** Key of the file being loaded, or null. At a start: the one on which the app ended, as a fault in native code ends it. */
    String loading() {
        return preferences.getString(LOADING, null);
    }

    /** Written at once, null when the file is loaded or refused; off the main thread. */
    void setLoading(String key) {
        preferences.edit().putString(LOADING, key).commit();
    }

    /** The next start is not to hear of it again. */
    void forgetLoading() {
        preferences.edit().remove(LOADING).apply();
    }

    /** A deleted model is neither missed nor blamed at the next start. */
    void forget(StoredModel deleted) {
        String key = key(deleted);
        if (key.equals(model())) {
            preferences.edit().remove(MODEL).apply();
        }
        if (key.equals(loading())) {
            forgetLoading();
        }
    }

    int threads() {
        return preferences.getInt(THREADS, DEFAULT_THREADS);
    }

    void setThreads(int threads) {
        preferences.edit().putInt(THREADS, threads).apply();
    }
}
