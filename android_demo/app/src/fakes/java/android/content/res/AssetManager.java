package android.content.res;

import android.os.Looper;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;

/** The app's real assets, below the repository that the property `pocketqa.root` names. */
public final class AssetManager {
    public InputStream open(String name) throws IOException {
        Looper.refuseMain("reading an asset takes time");
        return new FileInputStream(new File(System.getProperty("pocketqa.root"), "android_demo/app/src/main/assets/" + name));
    }
}
