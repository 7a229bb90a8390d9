package org.pocketqa.app;

import android.content.Context;
import java.io.FileNotFoundException;
import java.io.IOException;
import org.pocketqa.core.ModelFileException;
import org.pocketqa.core.TextFileException;

/** Converts a fault to a sentence for the user. */
final class Sentences {
    private Sentences() {}

    static String of(Context context, Throwable fault) {
        boolean inWords = fault instanceof ModelFileException || fault instanceof TextFileException;
        if (inWords || fault instanceof ArithmeticException) { // a model that computes no number
            return fault.getMessage();
        }
        if (fault instanceof FileNotFoundException || fault instanceof SecurityException) {
            return context.getString(R.string.fault_gone);
        }
        if (fault instanceof IOException) {
            return context.getString(R.string.fault_storage, reason(fault));
        }
        if (fault instanceof OutOfMemoryError) {
            return context.getString(R.string.fault_memory);
        }
        return context.getString(R.string.fault_unexpected, reason(fault));
    }

    /** Returns the message of the fault, or its class. */
    static String reason(Throwable fault) {
        String message = fault.getMessage();
        return message == null || message.trim().isEmpty() ? fault.getClass().getSimpleName() : message.trim();
    }
}
