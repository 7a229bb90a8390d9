package org.tensorflow.lite;

import org.tensorflow.lite.InterpreterApi.Options.TfLiteRuntime;

/** Loads the native library and names its version. */
public final class TensorFlowLite {
    private TensorFlowLite() {}

    /** Version of the runtime linked into the app. */
    public static String runtimeVersion() {
        throw new UnsupportedOperationException("stub");
    }

    /** Version of the given runtime. */
    public static String runtimeVersion(TfLiteRuntime runtime) {
        throw new UnsupportedOperationException("stub");
    }

    /** Version of the model schema that the runtime reads. */
    public static String schemaVersion() {
        throw new UnsupportedOperationException("stub");
    }

    /** Loads the native library; UnsatisfiedLinkError where it is missing. */
    public static void init() {
        throw new UnsupportedOperationException("stub");
    }
}
