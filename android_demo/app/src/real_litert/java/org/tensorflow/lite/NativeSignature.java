package org.tensorflow.lite;

import static org.tensorflow.lite.Interpreter.check;
import static org.tensorflow.lite.Interpreter.made;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import java.util.LinkedHashMap;
import java.util.Map;

/** Signature of a model: its tensors by name, in the order of a run. */
final class NativeSignature {
    final String key;
    final Map<String, NativeTensor> inputs = new LinkedHashMap<>();
    final Map<String, NativeTensor> outputs = new LinkedHashMap<>();
    private final long index;

    NativeSignature(Pointer model, long index) {
        this.index = index;
        Pointer signature = made(made -> LiteRt.C.LiteRtGetModelSignature(model, index, made), "signature");
        key = made(made -> LiteRt.C.LiteRtGetSignatureKey(signature, made), "key").getString(0);
        Pointer graph = made(made -> LiteRt.C.LiteRtGetSignatureSubgraph(signature, made), "subgraph");
        LongByReference count = new LongByReference();
        check(LiteRt.C.LiteRtGetNumSignatureInputs(signature, count), "number of inputs");
        for (long i = 0; i < count.getValue(); i++) {
            long at = i;
            Pointer name = made(made -> LiteRt.C.LiteRtGetSignatureInputName(signature, at, made), "input");
            Pointer tensor = made(made -> LiteRt.C.LiteRtGetSubgraphInput(graph, at, made), "input");
            inputs.put(name.getString(0), new NativeTensor(tensor));
        }
        check(LiteRt.C.LiteRtGetNumSignatureOutputs(signature, count), "number of outputs");
        for (long i = 0; i < count.getValue(); i++) {
            long at = i;
            Pointer name = made(made -> LiteRt.C.LiteRtGetSignatureOutputName(signature, at, made), "output");
            Pointer tensor = made(made -> LiteRt.C.LiteRtGetSubgraphOutput(graph, at, made), "output");
            outputs.put(name.getString(0), new NativeTensor(tensor));
        }
    }

    void run(Pointer compiled) {
        Pointer[] in = buffers(inputs);
        Pointer[] out = buffers(outputs);
        check(LiteRt.C.LiteRtRunCompiledModel(compiled, index, in.length, in, out.length, out), "run");
    }

    private static Pointer[] buffers(Map<String, NativeTensor> tensors) {
        return tensors.values().stream().map(tensor -> tensor.buffer).toArray(Pointer[]::new);
    }

    void close() {
        inputs.values().forEach(NativeTensor::close);
        outputs.values().forEach(NativeTensor::close);
    }
}
