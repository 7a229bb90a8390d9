package org.pocketqa.app;

import android.app.Activity;
import android.text.Layout;
import android.view.View;
import android.widget.ListView;
import android.widget.TextView;
import java.text.NumberFormat;
import org.pocketqa.core.Candidate;

/** List that shows the passage: title, source, paragraphs, and the marked answer. */
final class PassageList {
    private final Activity screen;
    private final ListView list;
    private final View header;
    private final PassageAdapter adapter;

    PassageList(Activity screen) {
        this.screen = screen;
        list = (ListView) screen.findViewById(R.id.passage);
        header = screen.getLayoutInflater().inflate(R.layout.passage_header, list, false);
        adapter = new PassageAdapter(screen);
        list.addHeaderView(header, null, false);
        list.setAdapter(adapter);
        Screen.setVisible(header, false);
    }

    /** Returns the passage shown, or null. */
    Passage passage() {
        return adapter.passage();
    }

    void show(Passage passage) {
        adapter.show(passage);
        int length = passage.text.length();
        String counted = NumberFormat.getInstance().format(length);
        String source =
                screen.getString(length == 1 ? R.string.passage_of_one : R.string.passage_length, passage.source, counted);
        ((TextView) header.findViewById(R.id.passage_title)).setText(passage.title);
        ((TextView) header.findViewById(R.id.passage_source)).setText(source);
        Screen.setVisible(header, true);
    }

    void scrollToTop() {
        list.setSelection(0);
    }

    /** Marks the text of a candidate; null removes the mark. */
    void mark(Candidate candidate) {
        adapter.mark(candidate == null ? 0 : candidate.start, candidate == null ? 0 : candidate.end);
    }

    /** Scrolls an offset of the passage to the upper third of the screen, after the current layout. */
    void scrollTo(final int offset) {
        final Passage meant = passage();
        list.post(
                () -> {
                    if (passage() == meant) {
                        scrollNow(offset);
                    }
                });
    }

    // A paragraph can be higher than the screen, so its layout is needed to find the line.
    private void scrollNow(int offset) {
        int row = adapter.rowOf(offset);
        int width = list.getWidth() - list.getPaddingLeft() - list.getPaddingRight();
        TextView paragraph = (TextView) adapter.getView(row, null, list);
        paragraph.measure(
                View.MeasureSpec.makeMeasureSpec(Math.max(width, 0), View.MeasureSpec.EXACTLY),
                View.MeasureSpec.makeMeasureSpec(0, View.MeasureSpec.UNSPECIFIED));
        Layout lines = paragraph.getLayout();
        int inRow = Math.min(offset - passage().paragraphs.get(row)[0], paragraph.length());
        int top = lines == null ? 0 : paragraph.getPaddingTop() + lines.getLineTop(lines.getLineForOffset(inRow));
        list.setSelectionFromTop(row + list.getHeaderViewsCount(), list.getHeight() / 3 - top);
    }
}
