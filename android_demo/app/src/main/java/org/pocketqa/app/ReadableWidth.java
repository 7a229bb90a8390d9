package org.pocketqa.app;

import android.content.Context;
import android.util.AttributeSet;
import android.widget.FrameLayout;

/** Frame that keeps its content narrow enough to read on a wide screen, in the middle. */
public final class ReadableWidth extends FrameLayout {
    public ReadableWidth(Context context, AttributeSet attributes) {
        super(context, attributes);
    }

    @Override
    protected void onMeasure(int widthSpec, int heightSpec) {
        int most = getResources().getDimensionPixelSize(R.dimen.readable_width);
        int side = Math.max(0, (MeasureSpec.getSize(widthSpec) - most) / 2);
        if (side != getPaddingLeft()) {
            setPadding(side, 0, side, 0);
        }
        super.onMeasure(widthSpec, heightSpec);
    }
}
