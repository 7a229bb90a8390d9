package org.pocketqa.app;

import static org.junit.Assert.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A place where a background thread waits until the test lets it go on. */
final class Held {
    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);
    private volatile Thread thread;

    /** Called by the thread that is to wait; later calls pass. */
    void here() {
        if (thread == null) {
            thread = Thread.currentThread();
        }
        arrived.countDown();
        await(released, 3 * Phone.PATIENCE_MS); // longer than the test waits for anything that depends on it
    }

    /** Waits for a thread to get here, and returns it. */
    Thread thread() {
        await(arrived, Phone.PATIENCE_MS);
        return thread;
    }

    void release() {
        released.countDown();
    }

    private static void await(CountDownLatch latch, long patienceMs) {
        try {
            assertTrue("waited for in vain", latch.await(patienceMs, TimeUnit.MILLISECONDS));
        } catch (InterruptedException unexpected) {
            throw new AssertionError(unexpected);
        }
    }
}
