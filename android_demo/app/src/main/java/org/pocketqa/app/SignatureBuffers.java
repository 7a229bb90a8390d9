package org.pocketqa.app;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.HashMap;
import java.util.Map;
import org.pocketqa.core.ModelPackage;

/** Input and output buffers of one signature, reused for every window. Direct and in native order, to avoid copies. */
final class SignatureBuffers {
    private static final int BYTES = 4; // bytes of an int32 and of a float32

    final Map<String, Object> inputs = new HashMap<String, Object>();
    final Map<String, Object> outputs = new HashMap<String, Object>();

    SignatureBuffers(int length) {
        for (String name : ModelPackage.INPUTS) {
            inputs.put(name, direct(length).asIntBuffer());
        }
        for (String name : ModelPackage.OUTPUTS) {
            outputs.put(name, direct(length).asFloatBuffer());
        }
    }

    private static ByteBuffer direct(int length) {
        return ByteBuffer.allocateDirect(BYTES * length).order(ByteOrder.nativeOrder());
    }

    /** Fills the inputs, in the order of ModelPackage.INPUTS, and rewinds the outputs. */
    void fill(int[]... values) {
        for (int i = 0; i < values.length; i++) {
            IntBuffer buffer = (IntBuffer) inputs.get(ModelPackage.INPUTS.get(i));
            rewind(buffer);
            buffer.put(values[i]);
            rewind(buffer);
        }
        for (Object buffer : outputs.values()) {
            rewind((Buffer) buffer);
        }
    }

    /** Copies the outputs, in the order of ModelPackage.OUTPUTS. */
    void read(float[]... values) {
        for (int i = 0; i < values.length; i++) {
            FloatBuffer buffer = (FloatBuffer) outputs.get(ModelPackage.OUTPUTS.get(i));
            rewind(buffer);
            buffer.get(values[i]);
        }
    }

    // Call through the base class: newer SDKs override rewind in each buffer class, which Android 7 lacks.
    private static void rewind(Buffer buffer) {
        buffer.rewind();
    }
}
