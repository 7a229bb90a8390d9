package org.tensorflow.lite;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;

/**
 * Functions of LiteRT 1.4's C interface (litert/c/*.h) for an interpreter. Each returns a LiteRtStatus; 0 means no error.
 *
 * A C size_t is a Java long, so only 64-bit machines work. -Dpocketqa.litert=FILE names the library; tools/fetch_litert.py gets it.
 */
interface LiteRt extends Library {
    LiteRt C = Native.load(System.getProperty("pocketqa.litert"), LiteRt.class);

    /** LiteRtHwAccelerators: only the built-in kernels, or also XNNPACK's. */
    int ACCELERATOR_NONE = 0;
    int ACCELERATOR_CPU = 1;

    int LiteRtCreateEnvironment(int options, Pointer option, PointerByReference environment);

    int LiteRtCreateModelFromFile(String path, PointerByReference model);

    void LiteRtDestroyModel(Pointer model);

    int LiteRtCreateOptions(PointerByReference options);

    int LiteRtSetOptionsHardwareAccelerators(Pointer options, int accelerators);

    int LiteRtAddOpaqueOptions(Pointer options, Pointer opaque);

    void LiteRtDestroyOptions(Pointer options);

    int LiteRtCreateCpuOptions(PointerByReference opaque);

    int LiteRtFindCpuOptions(Pointer opaque, PointerByReference cpu);

    int LiteRtSetCpuOptionsNumThread(Pointer cpu, int threads);

    int LiteRtCreateCompiledModel(Pointer environment, Pointer model, Pointer options, PointerByReference compiled);

    void LiteRtDestroyCompiledModel(Pointer compiled);

    int LiteRtGetNumModelSignatures(Pointer model, LongByReference count);

    int LiteRtGetModelSignature(Pointer model, long index, PointerByReference signature);

    int LiteRtGetSignatureKey(Pointer signature, PointerByReference key);

    int LiteRtGetSignatureSubgraph(Pointer signature, PointerByReference subgraph);

    int LiteRtGetNumSignatureInputs(Pointer signature, LongByReference count);

    int LiteRtGetNumSignatureOutputs(Pointer signature, LongByReference count);

    int LiteRtGetSignatureInputName(Pointer signature, long index, PointerByReference name);

    int LiteRtGetSignatureOutputName(Pointer signature, long index, PointerByReference name);

    int LiteRtGetSubgraphInput(Pointer subgraph, long index, PointerByReference tensor);

    int LiteRtGetSubgraphOutput(Pointer subgraph, long index, PointerByReference tensor);

    int LiteRtGetRankedTensorType(Pointer tensor, Pointer type);

    int LiteRtCreateTensorBufferFromHostMemory(
            Pointer type, Pointer memory, long bytes, Pointer deallocator, PointerByReference buffer);

    void LiteRtDestroyTensorBuffer(Pointer buffer);

    int LiteRtRunCompiledModel(Pointer compiled, long signature, long inputs, Pointer[] input, long outputs, Pointer[] output);
}
