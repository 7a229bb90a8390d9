package android.util;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

public final class Log {
    /** Logged faults. */
    public static final List<Throwable> LOGGED = Collections.synchronizedList(new ArrayList<>());

    private Log() {}

    public static int i(String tag, String message, Throwable fault) {
        LOGGED.add(fault);
        return 0;
    }

    public static int w(String tag, String message, Throwable fault) {
        return i(tag, message, fault);
    }
}
