package org.pocketqa.app;

import android.content.Context;
import android.content.res.Resources;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;
import org.pocketqa.core.TextFile;

/** The passages that come with the app (tools/make_passages.py), and whom they are owed to. */
final class BundledPassages {
    private static final String ASSET = "passages.json";
    private static final int MOST_BYTES = 1000000;

    final String attribution;
    final List<TextSource> passages = new ArrayList<TextSource>();

    private BundledPassages(JSONObject root, Resources words) throws JSONException {
        attribution = root.getString("attribution");
        JSONArray entries = root.getJSONArray("passages");
        for (int i = 0; i < entries.length(); i++) {
            JSONObject entry = entries.getJSONObject(i);
            List<String> questions = PassageStore.strings(entry.getJSONArray("questions"));
            String source = words.getString(R.string.source_bundled);
            passages.add(new TextSource(entry.getString("title"), source, entry.getString("text"), questions, words));
        }
    }

    /** Off the main thread. */
    static BundledPassages read(Context context) {
        try (InputStream in = context.getAssets().open(ASSET)) {
            return new BundledPassages(new JSONObject(TextFile.read(in, MOST_BYTES)), context.getResources());
        } catch (IOException | JSONException broken) {
            throw new IllegalStateException("this build has no readable " + ASSET, broken);
        }
    }
}
