package org.tensorflow.lite;

import java.util.Map;

/** Runs a TensorFlow Lite model. Not thread-safe. */
public interface InterpreterApi extends AutoCloseable {
    /** How the interpreter runs. */
    class Options {
        public Options() {}

        public Options setNumThreads(int numThreads) {
            throw new UnsupportedOperationException("stub");
        }

        public Options setCancellable(boolean allow) {
            throw new UnsupportedOperationException("stub");
        }

        public Options setUseXNNPACK(boolean useXNNPACK) {
            throw new UnsupportedOperationException("stub");
        }
    }

    String[] getSignatureKeys();

    String[] getSignatureInputs(String signatureKey);

    String[] getSignatureOutputs(String signatureKey);

    Tensor getInputTensorFromSignature(String inputName, String signatureKey);

    Tensor getOutputTensorFromSignature(String outputName, String signatureKey);

    void runSignature(Map<String, Object> inputs, Map<String, Object> outputs, String signatureKey);

    @Override
    void close();
}
