package org.pocketqa.app;

import android.content.ContentResolver;
import android.content.Context;
import android.database.Cursor;
import android.net.Uri;
import android.provider.OpenableColumns;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import org.pocketqa.core.TextFile;

/** A file of another app, as the file picker or a share hands it over: a stream and a name, never a path. Off the main thread. */
final class Document implements Incoming {
    private static final int LONGEST_NAME = 100;
    private static final int MOST_TEXT_BYTES = 20 * 1000 * 1000; // some twenty long novels, and about what a phone's heap takes

    private final Context context;
    private final Uri uri;

    Document(Context context, Uri uri) {
        this.context = context.getApplicationContext();
        this.uri = uri;
    }

    /** Its name for the user, cut to 100 characters: it is another app's text, and is shown whole. */
    @Override
    public String name() {
        String name = column(OpenableColumns.DISPLAY_NAME);
        if (name == null || name.trim().isEmpty()) {
            return context.getString(R.string.unnamed_file);
        }
        boolean fits = name.codePointCount(0, name.length()) <= LONGEST_NAME;
        return fits ? name : name.substring(0, name.offsetByCodePoints(0, LONGEST_NAME));
    }

    /** Its size, -1 when the other app does not know it. */
    @Override
    public long bytes() {
        String size = column(OpenableColumns.SIZE);
        try {
            return size == null ? -1 : Long.parseLong(size);
        } catch (NumberFormatException odd) {
            return -1;
        }
    }

    // Name and size are a courtesy: another app that fails to tell them may still give the content.
    private String column(String column) {
        try (Cursor cursor = context.getContentResolver().query(uri, new String[] {column}, null, null, null)) {
            return cursor != null && cursor.moveToFirst() ? cursor.getString(0) : null;
        } catch (RuntimeException refused) {
            return null;
        }
    }

    /** Opens the content; the caller closes it. FileNotFoundException when it is gone or forbidden. */
    @Override
    public InputStream open() throws IOException {
        // Other schemes would let another app name this app's own files.
        boolean foreign = ContentResolver.SCHEME_CONTENT.equals(uri.getScheme());
        InputStream in = foreign ? context.getContentResolver().openInputStream(uri) : null;
        if (in == null) {
            throw new FileNotFoundException(uri.toString());
        }
        return in;
    }

    /** The text in it as a passage; TextFileException when it is none. */
    Passage passage() throws IOException {
        try (InputStream in = open()) {
            String text = TextFile.read(in, MOST_TEXT_BYTES);
            return Passage.own(name(), context.getString(R.string.source_file), text, context.getResources());
        }
    }

    @Override
    public void taken() {}
}
