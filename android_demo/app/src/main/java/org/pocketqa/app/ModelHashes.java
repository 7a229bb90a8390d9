package org.pocketqa.app;

import android.content.Context;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.pocketqa.core.StoredModel;

/** SHA-256 of model files, each computed once in the background. Main thread only. */
final class ModelHashes {
    final Listeners listeners = new Listeners();
    private final Context context;
    private final Background thread = new Background("hashes"); // a separate thread, because a hash can take a minute
    private final Map<String, String> known = new HashMap<String, String>();

    ModelHashes(Context context) {
        this.context = context;
    }

    /** Returns a line with the hash. Listeners are notified when a missing hash is computed. */
    String line(final StoredModel model) {
        final String version = model.file + " " + model.version;
        String line = known.get(version);
        if (line == null) {
            line = context.getString(R.string.sha256_computing);
            known.put(version, line);
            compute(model, version);
        }
        return line;
    }

    private void compute(final StoredModel model, final String version) {
        thread.run(
                new Background.Task<String>() {
                    @Override
                    String work() throws IOException {
                        return model.sha256();
                    }

                    @Override
                    void done(String sha256) {
                        known.put(version, context.getString(R.string.sha256, sha256));
                        listeners.changed();
                    }

                    @Override
                    void failed(Throwable fault) {
                        known.put(version, context.getString(R.string.sha256_failed));
                        listeners.changed();
                    }
                });
    }
}
