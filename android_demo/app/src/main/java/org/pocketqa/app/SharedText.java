package org.pocketqa.app;

import android.content.ClipData;
import android.content.Context;
import android.content.Intent;
import android.net.Uri;
import java.util.Collections;

/** A text that another app shares. */
final class SharedText {
    private SharedText() {}

    /** Is this a share, and a new one? From the list of recent apps the same intent comes again, long after the fact. */
    static boolean isIn(Intent intent) {
        return isNew(intent) && Intent.ACTION_SEND.equals(intent.getAction());
    }

    /** Does the intent come for the first time? */
    static boolean isNew(Intent intent) {
        return (intent.getFlags() & Intent.FLAG_ACTIVITY_LAUNCHED_FROM_HISTORY) == 0;
    }

    /** The text itself, else the file; null when there is neither. */
    static PassageSource of(Context context, Intent intent) {
        try { // another app may have put anything there
            CharSequence text = intent.getCharSequenceExtra(Intent.EXTRA_TEXT);
            if (text != null && !text.toString().trim().isEmpty()) {
                return plain(context, R.string.title_shared, R.string.source_shared, text);
            }
            Uri file = intent.getParcelableExtra(Intent.EXTRA_STREAM);
            ClipData clip = intent.getClipData();
            file = file == null && clip != null && clip.getItemCount() > 0 ? clip.getItemAt(0).getUri() : file;
            return file == null ? null : new DocumentSource(context, file);
        } catch (RuntimeException unreadable) {
            return null;
        }
    }

    /** A text without questions to suggest. */
    static TextSource plain(Context context, int title, int source, CharSequence text) {
        return new TextSource(
                context.getString(title),
                context.getString(source),
                text.toString(),
                Collections.<String>emptyList(),
                context.getResources());
    }
}
