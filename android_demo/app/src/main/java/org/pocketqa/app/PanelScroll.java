package org.pocketqa.app;

import android.content.Context;
import android.util.AttributeSet;
import android.widget.ScrollView;

/** A scroll view that leaves at least half of the height it could take to the passage above it, however large the text. */
public final class PanelScroll extends ScrollView {
    public PanelScroll(Context context, AttributeSet attributes) {
        super(context, attributes);
    }

    @Override
    protected void onMeasure(int widthSpec, int heightSpec) {
        boolean free = MeasureSpec.getMode(heightSpec) == MeasureSpec.AT_MOST;
        int half = MeasureSpec.makeMeasureSpec(MeasureSpec.getSize(heightSpec) / 2, MeasureSpec.AT_MOST);
        super.onMeasure(widthSpec, free ? half : heightSpec);
    }
}
