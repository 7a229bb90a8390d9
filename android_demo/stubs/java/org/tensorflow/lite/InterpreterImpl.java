package org.tensorflow.lite;

import java.util.Map;

/** As in the library, a package-private class has the public methods; this decides which bridges javac adds. */
class InterpreterImpl implements InterpreterApi {
    static class Options extends InterpreterApi.Options {
        public Options() {}
    }

    @Override
    public String[] getSignatureKeys() {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public String[] getSignatureInputs(String signatureKey) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public String[] getSignatureOutputs(String signatureKey) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public Tensor getInputTensorFromSignature(String inputName, String signatureKey) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public Tensor getOutputTensorFromSignature(String outputName, String signatureKey) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public void runSignature(Map<String, Object> inputs, Map<String, Object> outputs, String signatureKey) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException("stub");
    }
}
