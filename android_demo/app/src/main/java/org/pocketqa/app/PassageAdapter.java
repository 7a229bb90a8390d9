package org.pocketqa.app;

import android.content.Context;
import android.view.LayoutInflater;
import android.view.View;
import android.view.ViewGroup;
import android.view.accessibility.AccessibilityNodeInfo;
import android.view.accessibility.AccessibilityNodeInfo.AccessibilityAction;
import android.widget.BaseAdapter;
import android.widget.TextView;

/** List rows of the paragraphs of a passage, with one marked range. */
final class PassageAdapter extends BaseAdapter {
    private final Context context;
    private final Highlight highlight;
    private Passage passage;
    private int markStart;
    private int markEnd; // if equal to the start, nothing is marked

    PassageAdapter(Context context) {
        this.context = context;
        this.highlight = new Highlight(context);
    }

    Passage passage() {
        return passage;
    }

    /** Shows another passage without a mark. */
    void show(Passage shown) {
        passage = shown;
        markStart = 0;
        markEnd = 0;
        notifyDataSetChanged();
    }

    /** Marks the UTF-16 range [start, end) of the passage; an empty one marks nothing. */
    void mark(int start, int end) {
        if (start != markStart || end != markEnd) {
            markStart = start;
            markEnd = end;
            notifyDataSetChanged();
        }
    }

    /** Returns the row of the paragraph that contains an offset of the passage. */
    int rowOf(int offset) {
        int low = 0;
        int high = passage.paragraphs.size() - 1;
        while (low < high) {
            int middle = (low + high) >>> 1;
            boolean after = offset >= passage.paragraphs.get(middle)[1];
            low = after ? middle + 1 : low;
            high = after ? high : middle;
        }
        return low;
    }

    @Override
    public int getCount() {
        return passage == null ? 0 : passage.paragraphs.size();
    }

    @Override
    public Object getItem(int row) {
        return passage.paragraphs.get(row);
    }

    @Override
    public long getItemId(int row) {
        return row;
    }

    @Override
    public boolean areAllItemsEnabled() {
        return false;
    }

    @Override
    public boolean isEnabled(int row) {
        return false; // a paragraph is for reading, not for tapping
    }

    @Override
    public View getView(int row, View used, ViewGroup list) {
        TextView view = (TextView) (used != null ? used : LayoutInflater.from(context).inflate(R.layout.paragraph, list, false));
        if (used == null) {
            // With its own delegate, a row is announced as plain text. The list's delegate would announce each row as disabled.
            view.setAccessibilityDelegate(
                    new View.AccessibilityDelegate() {
                        @Override
                        public void onInitializeAccessibilityNodeInfo(View host, AccessibilityNodeInfo info) {
                            super.onInitializeAccessibilityNodeInfo(host, info);
                            String copy = context.getString(R.string.copy_paragraph);
                            info.addAction(new AccessibilityAction(AccessibilityNodeInfo.ACTION_LONG_CLICK, copy));
                        }
                    });
        }
        int start = passage.paragraphs.get(row)[0];
        String text = passage.text.substring(start, withoutLineEnd(passage.paragraphs.get(row)));
        int from = Math.max(0, markStart - start);
        int to = Math.min(text.length(), markEnd - start);
        boolean marked = from < to;
        view.setOnLongClickListener(
                pressed -> {
                    Screen.copy(context, passage.title, text);
                    return true;
                });
        view.setText(marked ? highlight.mark(text, from, to) : text);
        view.setContentDescription(marked ? context.getString(R.string.paragraph_with_answer, text) : null);
        return view;
    }

    private int withoutLineEnd(int[] range) {
        int end = range[1];
        while (end > range[0] && (passage.text.charAt(end - 1) == '\n' || passage.text.charAt(end - 1) == '\r')) {
            end--;
        }
        return end;
    }
}
