package android.os;

/** Posts tasks for the main thread; the test runs them from the looper. */
public class Handler {
    public Handler(Looper looper) {}

    public final boolean post(Runnable step) {
        Looper.POSTED.add(step);
        return true;
    }

    public final boolean postDelayed(Runnable step, long milliseconds) {
        Looper.DELAYED.add(step);
        return true;
    }
}
