package android.content;

import android.database.Cursor;
import android.net.Uri;
import android.os.Looper;
import java.io.FileNotFoundException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;

/** Documents of other apps, set by a test. */
public class ContentResolver {
    public static final String SCHEME_CONTENT = "content";

    /** Document without a known size; a query for a column without a value fails, as in some apps. */
    public static class Entry {
        private final InputStream content;
        private final String name;

        public Entry(InputStream content, String name) {
            this.content = content;
            this.name = name;
        }

        protected InputStream open() {
            return content;
        }
    }

    private final Map<Uri, Entry> entries = new HashMap<>();

    public synchronized void put(Uri uri, Entry entry) {
        entries.put(uri, entry);
    }

    private synchronized Entry entry(Uri uri) {
        Looper.refuseMain("a provider may take its time");
        return entries.get(uri);
    }

    public final InputStream openInputStream(Uri uri) throws FileNotFoundException {
        Entry entry = entry(uri);
        if (entry == null) {
            throw new SecurityException("no permission for " + uri);
        }
        return entry.open();
    }

    public final Cursor query(Uri uri, String[] columns, String selection, String[] arguments, String order) {
        Entry entry = entry(uri);
        String value = entry == null || columns[0].equals("_size") ? null : entry.name;
        if (value == null) {
            throw new IllegalArgumentException("no column " + columns[0]);
        }
        return new Cursor() {
            @Override
            public boolean moveToFirst() {
                return true;
            }

            @Override
            public String getString(int column) {
                return value;
            }

            @Override
            public void close() {}
        };
    }
}
