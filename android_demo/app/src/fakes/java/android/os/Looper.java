package android.os;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** The main thread is the test's thread. Posted tasks run when the test runs them. */
public final class Looper {
    /** Tasks that wait for the main thread, in order. */
    public static final BlockingQueue<Runnable> POSTED = new LinkedBlockingQueue<>();

    /** Delayed tasks; a test runs them. */
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

    /** Fails on the main thread; for calls that would block the user interface. */
    public static void refuseMain(String why) {
        if (Thread.currentThread() == main) {
            throw new AssertionError("on the main thread: " + why);
        }
    }
}
