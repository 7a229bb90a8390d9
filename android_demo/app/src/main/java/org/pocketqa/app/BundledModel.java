package org.pocketqa.app;

import android.content.Context;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import org.pocketqa.core.StoredModel;

/** Model in the assets of this build, if any (app/build.gradle). */
final class BundledModel implements Incoming {
    private static final String FOLDER = "models";

    private final Context context;

    BundledModel(Context context) {
        this.context = context;
    }

    private String asset() throws IOException {
        String[] names = context.getAssets().list(FOLDER);
        if (names == null || names.length == 0) {
            throw new FileNotFoundException(FOLDER);
        }
        return FOLDER + "/" + names[0];
    }

    /** Returns its SHA-256; null if this build contains no model that can be read. */
    String sha256() {
        try (InputStream in = open()) {
            return StoredModel.sha256(in);
        } catch (IOException noneOrUnreadable) {
            return null;
        }
    }

    @Override
    public InputStream open() throws IOException {
        return context.getAssets().open(asset());
    }

    @Override
    public String name() {
        return context.getString(R.string.bundled_model);
    }

    @Override
    public long bytes() {
        return -1;
    }
}
