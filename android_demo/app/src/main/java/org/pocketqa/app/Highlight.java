package org.pocketqa.app;

import android.content.Context;
import android.graphics.Typeface;
import android.text.SpannableString;
import android.text.Spanned;
import android.text.style.BackgroundColorSpan;
import android.text.style.ForegroundColorSpan;
import android.text.style.StyleSpan;

/** Marks an answer in the text by colour, and by bold type for users who cannot see the colour. */
final class Highlight {
    private final int ground;
    private final int ink;

    Highlight(Context context) {
        ground = context.getColor(R.color.highlight);
        ink = context.getColor(R.color.on_highlight);
    }

    CharSequence mark(String text, int start, int end) {
        SpannableString marked = new SpannableString(text);
        marked.setSpan(new BackgroundColorSpan(ground), start, end, Spanned.SPAN_EXCLUSIVE_EXCLUSIVE);
        marked.setSpan(new ForegroundColorSpan(ink), start, end, Spanned.SPAN_EXCLUSIVE_EXCLUSIVE);
        marked.setSpan(new StyleSpan(Typeface.BOLD), start, end, Spanned.SPAN_EXCLUSIVE_EXCLUSIVE);
        return marked;
    }
}
