package android.os;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** The main thread is the test's own: it runs what is posted when the test says so. */
public final class Looper {
    /** Steps that wait for the main thread, in order. */
    public static final BlockingQueue<Runnable> POSTED = new LinkedBlockingQueue<>();

    /** Steps for later: a test says when that is. */
    public static final BlockingQueue<Runnable> DELAYED = new LinkedBlockingQueue<>();

    private static final Looper MAIN = new Looper();
    private static volatile Thread main;

    private Looper() {}

    public static Looper getMainLooper() {
        return MAIN;
    }

    /** Makes the calling thread the main one. */
    public static void prepareMainLooper() {
        main = Thread.currentThread();
        POSTED.clear();
        DELAYED.clear();
    }

    /** For calls that make the user wait. */
    public static void refuseMain(String why) {
        if (Thread.currentThread() == main) {
            throw new AssertionError("on the main thread: " + why);
        }
    }
}
