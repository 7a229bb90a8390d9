package org.pocketqa.app;

import android.content.Context;
import android.content.res.Resources;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.pocketqa.core.Fields;
import org.pocketqa.core.TextFile;

/** Passages that come with the app (tools/make_passages.py), and their credits. */
final class BundledPassages {
    private static final String ASSET = "passages.json";
    private static final int MOST_BYTES = 1000000;

    final String attribution;
    final List<Passage> passages = new ArrayList<Passage>();

    private BundledPassages(Fields root, Resources words) throws IOException {
        attribution = root.string("attribution");
        String source = words.getString(R.string.source_bundled);
        for (Object item : root.list("passages")) {
            Fields entry = Fields.of(ASSET, item);
            passages.add(new Passage(entry.string("title"), source, entry.string("text"), entry.strings("questions")));
        }
    }

    /** Reads the passages. Not on the main thread. */
    static BundledPassages read(Context context) {
        try (InputStream in = context.getAssets().open(ASSET)) {
            return new BundledPassages(Fields.parse(ASSET, TextFile.read(in, MOST_BYTES)), context.getResources());
        } catch (IOException broken) {
            throw new IllegalStateException("this build has no readable " + ASSET, broken);
        }
    }
}
