package org.pocketqa.app;

import android.content.Context;
import android.util.AttributeSet;
import android.widget.ScrollView;

/**
 * Scroll view that leaves at least half of the height to the passage above it, for any text size. If the height is small, for
 * example on a small phone with an open keyboard, the passage takes all of it.
 */
public final class PanelScroll extends ScrollView {
    private static final int LITTLE_DP = 200; // of which half is three lines of text

    public PanelScroll(Context context, AttributeSet attributes) {
        super(context, attributes);
    }

    @Override
    protected void onMeasure(int widthSpec, int heightSpec) {
        boolean free = MeasureSpec.getMode(heightSpec) == MeasureSpec.AT_MOST;
        int both = MeasureSpec.getSize(heightSpec);
        boolean little = both < LITTLE_DP * getResources().getDisplayMetrics().density;
        int own = MeasureSpec.makeMeasureSpec(little ? 0 : both / 2, MeasureSpec.AT_MOST);
        super.onMeasure(widthSpec, free ? own : heightSpec);
    }
}
