package android.content.res;

import android.os.Looper;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;

/** The app's real assets, below the repository that the property `pocketqa.root` names. */
public final class AssetManager {
    /** A model in the app's assets, as -Pmodel puts it there; null for a build without. */
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
