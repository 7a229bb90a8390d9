package org.pocketqa.app;

import android.content.ContentResolver;
import android.content.Context;
import android.database.Cursor;
import android.net.Uri;
import android.provider.OpenableColumns;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import org.pocketqa.core.ModelStore;
import org.pocketqa.core.TextFile;

/** File of another app, from the file picker or a share: a stream and a name, never a path. Not on the main thread. */
final class Document implements Incoming {
    private static final int LONGEST_NAME = 100;
    private static final int MOST_TEXT_BYTES = 20 * 1000 * 1000; // about twenty long novels, and about what fits in a phone's heap

    private final Context context;
    private final Uri uri;
    private final boolean asks;

    /** File that the user picked. */
    Document(Context context, Uri uri) {
        this(context, uri, false);
    }

    /** File; `asks` if another app sent it without a choice of the user. */
    Document(Context context, Uri uri, boolean asks) {
        this.context = context.getApplicationContext();
        this.uri = uri;
        this.asks = asks;
    }

    /** Tests for a model. A .tflite file has no type of its own, so apps share it as octet-stream or as anything. */
    static boolean isModel(String type, Uri file) {
        boolean named = file != null && file.toString().toLowerCase(Locale.ROOT).endsWith(ModelStore.EXTENSION);
        return named || "application/octet-stream".equals(type);
    }

    @Override
    public boolean asks() {
        return asks;
    }

    /** Returns its name, cut to 100 characters because another app chooses it. */
    @Override
    public String name() {
        String name = column(OpenableColumns.DISPLAY_NAME);
        if (name == null || name.trim().isEmpty()) {
            return context.getString(R.string.unnamed_file);
        }
        boolean fits = name.codePointCount(0, name.length()) <= LONGEST_NAME;
        return fits ? name : name.substring(0, name.offsetByCodePoints(0, LONGEST_NAME));
    }

    /** Returns its size; -1 if the other app does not know it. */
    @Override
    public long bytes() {
        String size = column(OpenableColumns.SIZE);
        try {
            return size == null ? -1 : Long.parseLong(size);
        } catch (NumberFormatException odd) {
            return -1;
        }
    }

    // Name and size are optional: an app that does not provide them may still provide the content.
    private String column(String column) {
        try (Cursor cursor = context.getContentResolver().query(uri, new String[] {column}, null, null, null)) {
            return cursor != null && cursor.moveToFirst() ? cursor.getString(0) : null;
        } catch (RuntimeException refused) {
            return null;
        }
    }

    /** Opens the content; the caller closes it. Throws FileNotFoundException if it is gone or forbidden. */
    @Override
    public InputStream open() throws IOException {
        // Other schemes would let another app read this app's private files.
        boolean foreign = ContentResolver.SCHEME_CONTENT.equals(uri.getScheme());
        InputStream in = foreign ? context.getContentResolver().openInputStream(uri) : null;
        if (in == null) {
            throw new FileNotFoundException(uri.toString());
        }
        return in;
    }

    /** Reads its text as a passage. Throws TextFileException if it is not text. */
    Passage passage() throws IOException {
        try (InputStream in = open()) {
            String text = TextFile.read(in, MOST_TEXT_BYTES, name());
            return Passage.own(name(), context.getString(R.string.source_file), text, context.getResources());
        }
    }
}
