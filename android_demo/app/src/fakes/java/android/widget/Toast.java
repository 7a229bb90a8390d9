package android.widget;

import android.content.Context;

public class Toast {
    public static final int LENGTH_LONG = 1;

    /** Text shown last. */
    public static String shown;

    private final CharSequence text;

    private Toast(CharSequence text) {
        this.text = text;
    }

    public static Toast makeText(Context context, CharSequence text, int duration) {
        return new Toast(text);
    }

    public void show() {
        shown = text.toString();
    }
}
