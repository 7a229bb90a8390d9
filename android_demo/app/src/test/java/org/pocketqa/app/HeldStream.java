package org.pocketqa.app;

import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;

/** Stream of another app that blocks until the test releases it, or until it is closed. */
final class HeldStream extends FilterInputStream {
    final Held reading = new Held();
    private final boolean endsOnClose;
    private volatile boolean closed;

    HeldStream(byte[] content, boolean endsOnClose) {
        super(new ByteArrayInputStream(content));
        this.endsOnClose = endsOnClose;
    }

    @Override
    public int read(byte[] block, int from, int count) throws IOException {
        reading.here();
        if (closed) {
            throw new IOException("closed");
        }
        return super.read(block, from, count);
    }

    @Override
    public void close() {
        closed = true;
        if (endsOnClose) {
            reading.release();
        }
    }
}
