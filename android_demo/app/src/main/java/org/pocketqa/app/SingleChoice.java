package org.pocketqa.app;

import android.view.View;
import android.view.accessibility.AccessibilityNodeInfo;
import android.view.accessibility.AccessibilityNodeInfo.CollectionInfo;
import android.view.accessibility.AccessibilityNodeInfo.CollectionItemInfo;
import android.widget.CompoundButton;

/** Describes radio buttons in rows of a layout to screen readers, as a RadioGroup does: "2 of 3". */
final class SingleChoice {
    private SingleChoice() {}

    /** Describes the layout of the rows. */
    static void group(View rows, final int count) {
        rows.setAccessibilityDelegate(
                new View.AccessibilityDelegate() {
                    @Override
                    public void onInitializeAccessibilityNodeInfo(View host, AccessibilityNodeInfo info) {
                        super.onInitializeAccessibilityNodeInfo(host, info);
                        info.setCollectionInfo(CollectionInfo.obtain(count, 1, false, CollectionInfo.SELECTION_MODE_SINGLE));
                    }
                });
    }

    /** Describes the button of one row, counted from 0. */
    static void item(final CompoundButton button, final int row) {
        button.setAccessibilityDelegate(
                new View.AccessibilityDelegate() {
                    @Override
                    public void onInitializeAccessibilityNodeInfo(View host, AccessibilityNodeInfo info) {
                        super.onInitializeAccessibilityNodeInfo(host, info);
                        info.setCollectionItemInfo(CollectionItemInfo.obtain(row, 1, 0, 1, false, button.isChecked()));
                    }
                });
    }
}
