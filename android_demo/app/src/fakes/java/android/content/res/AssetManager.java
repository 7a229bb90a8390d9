package android.content.res;

import android.os.Looper;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;

/** The app's real assets, in the repository named by the property `pocketqa.root`. */
public final class AssetManager {
    /** Model in the app's assets, as with -Pmodel; null for a build without one. */
    public static volatile byte[] model;

    public String[] list(String folder) {
        Looper.refuseMain("reading the list of assets takes time");
        return model == null ? new String[0] : new String[] {"model.tflite"};
    }

    public InputStream open(String name) throws IOException {
        Looper.refuseMain("reading an asset takes time");
        if (name.startsWith("models/")) {
            return new ByteArrayInputStream(model);
        }
        return new FileInputStream(new File(System.getProperty("pocketqa.root"), "android_demo/app/src/main/assets/" + name));
    }
}
