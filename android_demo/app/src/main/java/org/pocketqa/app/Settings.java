package org.pocketqa.app;

import android.content.Context;
import android.content.SharedPreferences;
import org.pocketqa.core.StoredModel;

/** What the user chose and the phone remembers: a model and a number of threads. */
final class Settings {
    private static final String MODEL = "model";
    private static final String THREADS = "threads";
    private static final String LOADING = "loading";
    private static final int DEFAULT_THREADS = 2; // most phones have at least two fast cores

    private final SharedPreferences preferences;

    Settings(Context context) {
        preferences = context.getSharedPreferences("settings", Context.MODE_PRIVATE);
    }

    /** Where a model lies and its name: folders may move with an update of the system, this does not. */
    static String key(StoredModel model) {
        return (model.external ? "pushed/" : "copied/") + model.name;
    }

    /** Key of the model chosen last, or null. */
    String model() {
        return preferences.getString(MODEL, null);
    }

    void setModel(StoredModel model) {
        preferences.edit().putString(MODEL, key(model)).apply();
    }

    void forgetModel() {
        preferences.edit().remove(MODEL).apply();
    }

    /** Did the app end while a model was being loaded? A fault in native code ends it without a word. */
    boolean endedWhileLoading() {
        return preferences.getBoolean(LOADING, false);
    }

    /** Written at once; off the main thread. */
    void setLoading(boolean loading) {
        preferences.edit().putBoolean(LOADING, loading).commit();
    }

    int threads() {
        return preferences.getInt(THREADS, DEFAULT_THREADS);
    }

    void setThreads(int threads) {
        preferences.edit().putInt(THREADS, threads).apply();
    }
}
