package org.pocketqa.app;

import android.content.ClipData;
import android.content.Context;
import android.content.Intent;
import android.content.res.Resources;
import android.net.Uri;
import java.util.concurrent.Callable;
import org.pocketqa.core.TextFileException;

/** Text that another app shares. */
final class SharedText {
    private static final String MODEL = "model"; // name of an extra

    private SharedText() {}

    /** Tests for a new share. The list of recent apps sends an old intent again. */
    static boolean isIn(Intent intent) {
        String action = intent.getAction();
        boolean shared = Intent.ACTION_SEND.equals(action) && !isFile(intent);
        return isNew(intent) && (shared || Intent.ACTION_PROCESS_TEXT.equals(action));
    }

    /** Tests whether the intent arrives for the first time. */
    static boolean isNew(Intent intent) {
        return (intent.getFlags() & Intent.FLAG_ACTIVITY_LAUNCHED_FROM_HISTORY) == 0;
    }

    /** Returns the model file name in a new intent of `python -m export.android --push`, or null. */
    static String wanted(Intent intent) {
        try { // before Android 13, one unreadable extra makes all of them unreadable
            return isNew(intent) ? intent.getStringExtra(MODEL) : null;
        } catch (RuntimeException unreadable) {
            return null;
        }
    }

    /** Returns the model file in a new intent of another app, or null. */
    static Uri model(Intent intent) {
        if (!isNew(intent)) {
            return null;
        }
        if (Intent.ACTION_VIEW.equals(intent.getAction())) {
            return intent.getData();
        }
        return Intent.ACTION_SEND.equals(intent.getAction()) && isFile(intent) ? stream(intent) : null;
    }

    private static boolean isFile(Intent intent) {
        return Document.isModel(intent.getType(), stream(intent));
    }

    private static Uri stream(Intent intent) {
        try { // another app may have put anything there
            Uri file = intent.getParcelableExtra(Intent.EXTRA_STREAM);
            ClipData clip = intent.getClipData();
            return file == null && clip != null && clip.getItemCount() > 0 ? clip.getItemAt(0).getUri() : file;
        } catch (RuntimeException unreadable) {
            return null;
        }
    }

    /** Returns the text, or the file; null if there is neither. */
    static Callable<Passage> of(Context context, Intent intent) {
        try { // another app may have put anything there
            boolean selected = Intent.ACTION_PROCESS_TEXT.equals(intent.getAction());
            CharSequence text = intent.getCharSequenceExtra(selected ? Intent.EXTRA_PROCESS_TEXT : Intent.EXTRA_TEXT);
            if (text != null && isAddress(text)) {
                return () -> {
                    throw new TextFileException(context.getString(R.string.only_address));
                };
            }
            if (text != null && !text.toString().trim().isEmpty()) {
                return plain(context, R.string.title_shared, R.string.source_shared, text);
            }
            Uri file = stream(intent);
            return file == null ? null : new Document(context, file)::passage;
        } catch (RuntimeException unreadable) {
            return null;
        }
    }

    /** Tests whether the text is only the address of a page, as browsers share it. */
    static boolean isAddress(CharSequence text) {
        return text.toString().trim().matches("(?i)https?://\\S+");
    }

    /** Returns a text with the resources of its title and source. */
    static Callable<Passage> plain(Context context, int title, int source, CharSequence text) {
        Resources words = context.getResources();
        return () -> Passage.own(words.getString(title), words.getString(source), text.toString(), words);
    }
}
