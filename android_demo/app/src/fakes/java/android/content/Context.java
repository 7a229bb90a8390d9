package android.content;

import android.content.res.AssetManager;
import android.content.res.Resources;
import android.os.Looper;
import java.io.File;

/** Environment of an app. A test sets the fields before it starts the app. */
public abstract class Context {
    public static final int MODE_PRIVATE = 0;
    public static final String POWER_SERVICE = "power";

    public File files;
    public File externalFiles;
    public SharedPreferences preferences;
    public ContentResolver resolver;
    public String codePath = "/data/app/1/base.apk";

    private final Resources resources = new Resources();
    private final AssetManager assets = new AssetManager();

    public Context getApplicationContext() {
        return this;
    }

    public Resources getResources() {
        return resources;
    }

    public final String getString(int id) {
        return resources.getString(id);
    }

    public final String getString(int id, Object... values) {
        return resources.getString(id, values);
    }

    public String getPackageCodePath() {
        return codePath;
    }

    public AssetManager getAssets() {
        return assets;
    }

    public ContentResolver getContentResolver() {
        return resolver;
    }

    public SharedPreferences getSharedPreferences(String name, int mode) {
        return preferences;
    }

    /** Service without any methods, as an old phone lacks the newer ones. */
    public Object getSystemService(String name) {
        return name;
    }

    public File getFilesDir() {
        Looper.refuseMain("getFilesDir makes a folder");
        return files;
    }

    public File getExternalFilesDir(String type) {
        Looper.refuseMain("getExternalFilesDir makes a folder");
        return externalFiles;
    }
}
