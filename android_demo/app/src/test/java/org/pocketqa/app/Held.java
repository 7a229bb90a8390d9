package org.pocketqa.app;

import static org.junit.Assert.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Barrier at which a background thread waits until the test releases it. */
final class Held {
    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);
    private volatile Thread thread;

    /** Called by the thread that must wait; later calls return at once. */
    void here() {
        if (thread == null) {
            thread = Thread.currentThread();
        }
        arrived.countDown();
        await(released, 3 * Phone.PATIENCE_MS); // longer than any wait of the test
    }

    /** Waits for a thread to reach this point, and returns it. */
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
