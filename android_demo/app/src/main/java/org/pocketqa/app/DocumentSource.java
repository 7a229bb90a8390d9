package org.pocketqa.app;

import android.content.Context;
import android.net.Uri;
import java.io.IOException;
import java.io.InputStream;
import java.util.Collections;
import org.pocketqa.core.TextFile;

/** A text file that the user picked, or another app shared. */
final class DocumentSource implements PassageSource {
    private static final int MOST_BYTES = 20 * 1000 * 1000; // some twenty long novels, and about what a phone's heap takes

    private final Context context;
    private final Uri uri;

    DocumentSource(Context context, Uri uri) {
        this.context = context.getApplicationContext();
        this.uri = uri;
    }

    @Override
    public Passage read() throws IOException {
        Document document = new Document(context, uri);
        String text;
        try (InputStream in = document.open()) {
            text = TextFile.read(in, MOST_BYTES);
        }
        String source = context.getString(R.string.source_file);
        return new TextSource(document.name(), source, text, Collections.<String>emptyList(), context.getResources()).read();
    }
}
