package org.tensorflow.lite;

import java.io.File;
import java.nio.ByteBuffer;
import java.util.Map;

/** Runs a TensorFlow Lite model. Not thread-safe. */
public interface InterpreterApi extends AutoCloseable {
    /** How the interpreter runs. */
    class Options {
        public Options() {
            throw new UnsupportedOperationException("stub");
        }

        public Options(Options other) {
            throw new UnsupportedOperationException("stub");
        }

        /** Where the runtime comes from. */
        public enum TfLiteRuntime {
            FROM_APPLICATION_ONLY,
            FROM_SYSTEM_ONLY,
            PREFER_SYSTEM_OVER_APPLICATION
        }

        /** -1 leaves the number to the runtime; 0 and 1 mean one thread. */
        public Options setNumThreads(int numThreads) {
            throw new UnsupportedOperationException("stub");
        }

        /** Threads asked for. */
        public int getNumThreads() {
            throw new UnsupportedOperationException("stub");
        }

        /** Allows {@link Interpreter#setCancelled}. */
        public Options setCancellable(boolean allow) {
            throw new UnsupportedOperationException("stub");
        }

        /** Whether a run can be cancelled. */
        public boolean isCancellable() {
            throw new UnsupportedOperationException("stub");
        }

        /** Chooses the runtime. */
        public Options setRuntime(TfLiteRuntime runtime) {
            throw new UnsupportedOperationException("stub");
        }

        /** The runtime chosen. */
        public TfLiteRuntime getRuntime() {
            throw new UnsupportedOperationException("stub");
        }

        /** XNNPACK's CPU kernels; on unless switched off. */
        public Options setUseXNNPACK(boolean useXNNPACK) {
            throw new UnsupportedOperationException("stub");
        }

        /** Whether XNNPACK is used. */
        public boolean getUseXNNPACK() {
            throw new UnsupportedOperationException("stub");
        }
    }

    /** Opens a model file; options may be null. */
    static InterpreterApi create(File modelFile, Options options) {
        throw new UnsupportedOperationException("stub");
    }

    /** Opens a model in a mapped or direct buffer; options may be null. */
    static InterpreterApi create(ByteBuffer byteBuffer, Options options) {
        throw new UnsupportedOperationException("stub");
    }

    /** Runs a model of one input and one output. */
    void run(Object input, Object output);

    /** Runs a model with inputs in the model's order, outputs by index. */
    void runForMultipleInputsOutputs(Object[] inputs, Map<Integer, Object> outputs);

    /** Allocates all tensors after a resize. */
    void allocateTensors();

    /** Gives an input a new shape. */
    void resizeInput(int idx, int[] dims);

    /** As above; strict allows free dimensions only. */
    void resizeInput(int idx, int[] dims, boolean strict);

    /** Number of inputs. */
    int getInputTensorCount();

    /** Index of an input by its name. */
    int getInputIndex(String opName);

    /** Input by its index. */
    Tensor getInputTensor(int inputIndex);

    /** Number of outputs. */
    int getOutputTensorCount();

    /** Index of an output by its name. */
    int getOutputIndex(String opName);

    /** Output by its index. */
    Tensor getOutputTensor(int outputIndex);

    /** Runs one signature, tensors by name. */
    void runSignature(Map<String, Object> inputs, Map<String, Object> outputs, String signatureKey);

    /** Runs the only signature of a model. */
    void runSignature(Map<String, Object> inputs, Map<String, Object> outputs);

    /** Input of a signature by name. */
    Tensor getInputTensorFromSignature(String inputName, String signatureKey);

    /** All signatures of the model. */
    String[] getSignatureKeys();

    /** Names of a signature's inputs. */
    String[] getSignatureInputs(String signatureKey);

    /** Names of a signature's outputs. */
    String[] getSignatureOutputs(String signatureKey);

    /** Output of a signature by name. */
    Tensor getOutputTensorFromSignature(String outputName, String signatureKey);

    /** Nanoseconds of the last run, null before the first. */
    Long getLastNativeInferenceDurationNanoseconds();

    @Override
    void close();
}
