package org.tensorflow.lite;

import static org.tensorflow.lite.Interpreter.check;
import static org.tensorflow.lite.Interpreter.made;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.stream.IntStream;

/** Input or output of 32-bit values, with its memory, which the runtime reads and writes in place. */
final class NativeTensor {
    // LiteRtRankedTensorType: int element type; int with the rank in its low seven bits; eight int dimensions; strides.
    private static final int TYPE_BYTES = 256;
    private static final int RANK_AT = 4;
    private static final int RANK_BITS = 0x7f;
    private static final int DIMENSIONS_AT = 8;
    private static final int FLOAT32 = 1; // LiteRtElementType, TfLiteType's numbers
    private static final int INT32 = 2;
    private static final int BYTES = 4;
    private static final int ALIGNMENT = 64; // LITERT_HOST_MEMORY_BUFFER_ALIGNMENT

    final Pointer buffer;
    private final DataType type;
    private final int[] shape;
    private final Memory memory;
    private final int bytes;

    NativeTensor(Pointer tensor) {
        Memory ranked = new Memory(TYPE_BYTES);
        ranked.clear();
        check(LiteRt.C.LiteRtGetRankedTensorType(tensor, ranked), "type");
        int element = ranked.getInt(0);
        type = element == FLOAT32 ? DataType.FLOAT32 : element == INT32 ? DataType.INT32 : DataType.STRING;
        shape = ranked.getIntArray(DIMENSIONS_AT, ranked.getInt(RANK_AT) & RANK_BITS);
        bytes = BYTES * IntStream.of(shape).reduce(1, (a, b) -> a * b);
        memory = new Memory(bytes + ALIGNMENT).align(ALIGNMENT);
        buffer = made(made -> LiteRt.C.LiteRtCreateTensorBufferFromHostMemory(ranked, memory, bytes, null, made), "buffer");
    }

    ByteBuffer values() {
        return memory.getByteBuffer(0, bytes); // in native order
    }

    Tensor tensor() {
        Class<?>[] kinds = {Tensor.class};
        return (Tensor)
                Proxy.newProxyInstance(
                        Tensor.class.getClassLoader(),
                        kinds,
                        (proxy, method, arguments) -> method.getName().equals("shape") ? shape : type);
    }

    void close() {
        LiteRt.C.LiteRtDestroyTensorBuffer(buffer);
    }
}
