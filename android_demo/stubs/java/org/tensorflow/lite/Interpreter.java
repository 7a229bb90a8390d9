package org.tensorflow.lite;

import java.io.File;

/** The interpreter linked into the app. */
public final class Interpreter extends InterpreterImpl implements InterpreterApi {
    /** How the interpreter runs. */
    public static class Options extends InterpreterImpl.Options {
        public Options() {}

        @Override
        public Options setNumThreads(int numThreads) {
            throw new UnsupportedOperationException("stub");
        }

        @Override
        public Options setCancellable(boolean allow) {
            throw new UnsupportedOperationException("stub");
        }

        @Override
        public Options setUseXNNPACK(boolean useXNNPACK) {
            throw new UnsupportedOperationException("stub");
        }
    }

    public Interpreter(File modelFile, Options options) {
        throw new UnsupportedOperationException("stub");
    }

    /** Stops the run between two operations, until set to false. May be called from another thread. */
    public void setCancelled(boolean cancelled) {
        throw new UnsupportedOperationException("stub");
    }
}
