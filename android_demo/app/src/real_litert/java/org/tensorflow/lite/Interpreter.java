package org.tensorflow.lite;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.io.File;
import java.util.LinkedHashMap;
import java.util.Map;

/** LiteRT 1.4 on a desktop, with the part of its Java API that the app calls. Not thread-safe. */
public final class Interpreter implements AutoCloseable {
    /** How the interpreter runs. */
    public static class Options {
        private int threads = 1;
        private boolean xnnpack = true;

        public Options setNumThreads(int threads) {
            this.threads = threads;
            return this;
        }

        public Options setCancellable(boolean cancellable) {
            return this;
        }

        public Options setUseXNNPACK(boolean xnnpack) {
            this.xnnpack = xnnpack;
            return this;
        }
    }

    private static final Pointer ENVIRONMENT = made(made -> LiteRt.C.LiteRtCreateEnvironment(0, null, made), "environment");

    private final Pointer model;
    private final Pointer compiled;
    private final Map<String, NativeSignature> signatures = new LinkedHashMap<>();
    private volatile boolean cancelled;

    public Interpreter(File file, Options options) {
        model = made(made -> LiteRt.C.LiteRtCreateModelFromFile(file.getPath(), made), "model");
        try {
            compiled = compile(options);
        } catch (RuntimeException refused) {
            LiteRt.C.LiteRtDestroyModel(model);
            throw refused;
        }
        LongByReference count = new LongByReference();
        check(LiteRt.C.LiteRtGetNumModelSignatures(model, count), "number of signatures");
        for (long i = 0; i < count.getValue(); i++) {
            NativeSignature signature = new NativeSignature(model, i);
            signatures.put(signature.key, signature);
        }
    }

    private Pointer compile(Options wanted) {
        Pointer options = made(LiteRt.C::LiteRtCreateOptions, "options");
        try {
            int accelerators = wanted.xnnpack ? LiteRt.ACCELERATOR_CPU : LiteRt.ACCELERATOR_NONE;
            check(LiteRt.C.LiteRtSetOptionsHardwareAccelerators(options, accelerators), "accelerators");
            Pointer opaque = made(LiteRt.C::LiteRtCreateCpuOptions, "CPU options");
            Pointer cpu = made(made -> LiteRt.C.LiteRtFindCpuOptions(opaque, made), "CPU options");
            check(LiteRt.C.LiteRtSetCpuOptionsNumThread(cpu, wanted.threads), "threads");
            check(LiteRt.C.LiteRtAddOpaqueOptions(options, opaque), "CPU options");
            return made(made -> LiteRt.C.LiteRtCreateCompiledModel(ENVIRONMENT, model, options, made), "compiling");
        } finally {
            LiteRt.C.LiteRtDestroyOptions(options);
        }
    }

    public String[] getSignatureKeys() {
        return signatures.keySet().toArray(new String[0]);
    }

    public String[] getSignatureInputs(String key) {
        return signatures.get(key).inputs.keySet().toArray(new String[0]);
    }

    public String[] getSignatureOutputs(String key) {
        return signatures.get(key).outputs.keySet().toArray(new String[0]);
    }

    public Tensor getInputTensorFromSignature(String name, String key) {
        return signatures.get(key).inputs.get(name).tensor();
    }

    public Tensor getOutputTensorFromSignature(String name, String key) {
        return signatures.get(key).outputs.get(name).tensor();
    }

    public void runSignature(Map<String, Object> inputs, Map<String, Object> outputs, String key) {
        if (cancelled) {
            throw new IllegalArgumentException("cancelled");
        }
        NativeSignature signature = signatures.get(key);
        signature.inputs.forEach((name, tensor) -> tensor.values().asIntBuffer().put(((int[][]) inputs.get(name))[0]));
        signature.run(compiled);
        signature.outputs.forEach((name, tensor) -> tensor.values().asFloatBuffer().get(((float[][]) outputs.get(name))[0]));
    }

    /** Cancels runs that have not begun. Unlike on the phone, a running window is not cancelled. */
    public void setCancelled(boolean cancelled) {
        this.cancelled = cancelled;
    }

    @Override
    public void close() {
        signatures.values().forEach(NativeSignature::close);
        LiteRt.C.LiteRtDestroyCompiledModel(compiled);
        LiteRt.C.LiteRtDestroyModel(model);
    }

    /** Function that creates an object behind a pointer. */
    interface Maker {
        int make(PointerByReference made);
    }

    static Pointer made(Maker maker, String what) {
        PointerByReference made = new PointerByReference();
        check(maker.make(made), what);
        return made.getValue();
    }

    static void check(int status, String what) {
        if (status != 0) {
            throw new IllegalArgumentException(what + ": LiteRtStatus " + status);
        }
    }
}
