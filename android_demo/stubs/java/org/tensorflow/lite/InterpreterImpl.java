package org.tensorflow.lite;

import java.util.Map;

/** As in the library, the public methods live in a class of the package: that decides which bridges javac adds. */
class InterpreterImpl implements InterpreterApi {
    static class Options extends InterpreterApi.Options {
        public Options() {}

        public Options(InterpreterApi.Options options) {
            super(options);
        }
    }

    @Override
    public void run(Object input, Object output) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public void runForMultipleInputsOutputs(Object[] inputs, Map<Integer, Object> outputs) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public void allocateTensors() {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public void resizeInput(int idx, int[] dims) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public void resizeInput(int idx, int[] dims, boolean strict) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public int getInputTensorCount() {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public int getInputIndex(String opName) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public Tensor getInputTensor(int inputIndex) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public int getOutputTensorCount() {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public int getOutputIndex(String opName) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public Tensor getOutputTensor(int outputIndex) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public void runSignature(Map<String, Object> inputs, Map<String, Object> outputs, String signatureKey) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public void runSignature(Map<String, Object> inputs, Map<String, Object> outputs) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public Tensor getInputTensorFromSignature(String inputName, String signatureKey) {
        throw new UnsupportedOperationException("stub");
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
    public Tensor getOutputTensorFromSignature(String outputName, String signatureKey) {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public Long getLastNativeInferenceDurationNanoseconds() {
        throw new UnsupportedOperationException("stub");
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException("stub");
    }
}
