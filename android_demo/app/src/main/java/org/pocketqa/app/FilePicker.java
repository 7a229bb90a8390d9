package org.pocketqa.app;

import android.app.Activity;
import android.content.ActivityNotFoundException;
import android.content.Intent;
import android.net.Uri;
import android.widget.Toast;

/** The system's file picker. It needs no permission and returns one file at a time. */
final class FilePicker {
    private static final int REQUEST = 1;

    private FilePicker() {}

    static void open(Activity screen) {
        // Any type: .tflite has none of its own, and many providers give .txt or .md a type other than text.
        Intent intent = new Intent(Intent.ACTION_OPEN_DOCUMENT).addCategory(Intent.CATEGORY_OPENABLE).setType("*/*");
        try {
            screen.startActivityForResult(intent, REQUEST);
        } catch (ActivityNotFoundException none) {
            Toast.makeText(screen, R.string.no_picker, Toast.LENGTH_LONG).show();
        }
    }

    /** Returns the picked file from onActivityResult; null if none was picked. */
    static Uri picked(int request, int result, Intent data) {
        return request == REQUEST && result == Activity.RESULT_OK && data != null ? data.getData() : null;
    }
}
