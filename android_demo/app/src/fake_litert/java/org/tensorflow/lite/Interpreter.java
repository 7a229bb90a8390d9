package org.tensorflow.lite;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.ZipFile;
import org.pocketqa.core.Json;

/** Replays the probe of a model file. For any other window, the token with the largest id wins. */
public final class Interpreter implements AutoCloseable {
    /** How the interpreter runs. */
    public static class Options {
        private int threads;
        private boolean xnnpack;
        private boolean cancellable;

        public Options setNumThreads(int threads) {
            this.threads = threads;
            return this;
        }

        public Options setUseXNNPACK(boolean xnnpack) {
            this.xnnpack = xnnpack;
            return this;
        }

        public Options setCancellable(boolean cancellable) {
            this.cancellable = cancellable;
            return this;
        }
    }

    /** Faults to simulate; the default has none. */
    public static class Script {
        /** Called while a file is opened; opening throws its exceptions. */
        public void opening(File file) {}

        /** Called while a window is computed; the run throws its exceptions. */
        public void running(Interpreter interpreter) {}

        /** Changes a logit of the model. */
        public float logit(float recorded) {
            return recorded;
        }

        public boolean heedsCancel() {
            return true;
        }

        /** Returns a script whose files cannot be opened; the fault is an Error or a RuntimeException. */
        public static Script failsToOpen(Throwable fault) {
            return new Script() {
                @Override
                public void opening(File file) {
                    raise(fault);
                }
            };
        }

        /** Returns a script whose windows cannot be computed. */
        public static Script failsToRun(Throwable fault) {
            return new Script() {
                @Override
                public void running(Interpreter interpreter) {
                    raise(fault);
                }
            };
        }

        private static void raise(Throwable fault) {
            if (fault instanceof Error) {
                throw (Error) fault;
            }
            throw (RuntimeException) fault;
        }
    }

    public static volatile Script script;
    /** Number of interpreters created. */
    public static final AtomicInteger OPENED = new AtomicInteger();
    /** Interpreters of this process that are not closed yet; a thread of the last process may close its own later. */
    private static volatile AtomicInteger processOpen = new AtomicInteger();
    /** Number of threads of the last interpreter. */
    public static volatile int threads;
    /** Whether the last interpreter used XNNPACK. */
    public static volatile boolean xnnpack;
    /** Violations: use after close, or by two threads at once. */
    public static final List<String> MISUSES = Collections.synchronizedList(new ArrayList<>());

    private static final long PATIENCE_MS = 10000;

    private final Map<String, Integer> lengths = new LinkedHashMap<>();
    private final Set<String> resizable = new HashSet<>();
    private final Map<String, Map<?, ?>> recorded = new HashMap<>();
    private final boolean cancellable;
    private final AtomicInteger ownersOpen = processOpen;
    private boolean closed;
    private boolean running;
    private boolean cancelled;

    /** Resets the state, as at the start of a process. */
    public static void startProcess() {
        OPENED.set(0);
        processOpen = new AtomicInteger();
    }

    /** Returns the number of interpreters of this process that are not closed yet. */
    public static int open() {
        return processOpen.get();
    }

    public Interpreter(File file, Options options) {
        script.opening(file);
        try (ZipFile zip = new ZipFile(file)) {
            for (Object signature : (List<?>) member(zip, "qa.json").get("signatures")) {
                Map<?, ?> fields = (Map<?, ?>) signature;
                lengths.put((String) fields.get("name"), ((Double) fields.get("length")).intValue());
                if (Boolean.TRUE.equals(fields.get("any_length"))) {
                    resizable.add((String) fields.get("name"));
                }
            }
            for (Object window : (List<?>) member(zip, "probe.json").get("windows")) {
                Map<?, ?> fields = (Map<?, ?>) window;
                recorded.put(idsOf(fields), fields);
            }
        } catch (IOException unreadable) {
            throw new IllegalArgumentException(unreadable);
        }
        cancellable = options.cancellable;
        threads = options.threads;
        xnnpack = options.xnnpack;
        OPENED.incrementAndGet();
        ownersOpen.incrementAndGet();
    }

    private static Map<?, ?> member(ZipFile zip, String name) throws IOException {
        try (InputStream in = zip.getInputStream(zip.getEntry(name));
                Scanner text = new Scanner(in, "UTF-8").useDelimiter("\\A")) {
            return (Map<?, ?>) Json.parse(text.next());
        }
    }

    private static String idsOf(Map<?, ?> window) {
        List<?> numbers = (List<?>) window.get("input_ids");
        int[] ids = new int[numbers.size()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = ((Double) numbers.get(i)).intValue();
        }
        return Arrays.toString(ids);
    }

    public String[] getSignatureKeys() {
        use("getSignatureKeys");
        return lengths.keySet().toArray(new String[0]);
    }

    public String[] getSignatureInputs(String key) {
        use("getSignatureInputs");
        return new String[] {"attention_mask", "input_ids", "token_type_ids"};
    }

    public String[] getSignatureOutputs(String key) {
        use("getSignatureOutputs");
        return new String[] {"end_logits", "start_logits"};
    }

    public Tensor getInputTensorFromSignature(String name, String key) {
        use("getInputTensorFromSignature");
        return tensor(DataType.INT32, new int[] {1, lengths.get(key)});
    }

    public Tensor getOutputTensorFromSignature(String name, String key) {
        use("getOutputTensorFromSignature");
        return tensor(DataType.FLOAT32, new int[] {1, lengths.get(key)});
    }

    private static Tensor tensor(DataType type, int[] shape) {
        Class<?>[] kinds = {Tensor.class};
        Object tensor =
                Proxy.newProxyInstance(
                        Tensor.class.getClassLoader(),
                        kinds,
                        (proxy, method, arguments) -> method.getName().equals("shape") ? shape : type);
        return (Tensor) tensor;
    }

    public void runSignature(Map<String, Object> inputs, Map<String, Object> outputs, String key) {
        begin();
        try {
            script.running(this);
            if (isCancelled() && script.heedsCancel()) {
                throw new IllegalArgumentException("Internal error: Failed to run on the given Interpreter: cancelled");
            }
            compute(inputs, outputs, key);
        } finally {
            end();
        }
    }

    private void compute(Map<String, Object> inputs, Map<String, Object> outputs, String key) {
        int[] ids = ((int[][]) inputs.get("input_ids"))[0];
        int[] mask = ((int[][]) inputs.get("attention_mask"))[0];
        int length = ids.length;
        if (length != lengths.get(key) && !resizable.contains(key)) {
            throw new IllegalArgumentException("Tensor passed for input 'input_ids' has different shape than expected");
        }
        int n = Arrays.stream(mask).sum();
        Map<?, ?> window = recorded.get(Arrays.toString(Arrays.copyOf(ids, n)));
        for (String name : new String[] {"start_logits", "end_logits"}) {
            List<?> logits = window == null ? null : (List<?>) window.get(name);
            float[] out = ((float[][]) outputs.get(name))[0];
            for (int i = 0; i < length; i++) {
                float logit = i >= n ? Float.NaN : logits == null ? ids[i] : ((Double) logits.get(i)).floatValue();
                out[i] = script.logit(logit);
            }
        }
    }

    public synchronized void setCancelled(boolean cancelled) {
        use("setCancelled");
        if (!cancellable) {
            throw new IllegalStateException("not cancellable");
        }
        this.cancelled = cancelled;
        notifyAll();
    }

    private synchronized boolean isCancelled() {
        return cancelled;
    }

    /** Blocks a run until it is cancelled. */
    public synchronized void untilCancelled() {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        try {
            while (!cancelled) {
                if (System.nanoTime() > end) {
                    throw new AssertionError("never cancelled");
                }
                wait(PATIENCE_MS);
            }
        } catch (InterruptedException unexpected) {
            throw new AssertionError(unexpected);
        }
    }

    private synchronized void use(String call) {
        if (closed) {
            MISUSES.add(call + " after close");
            throw new IllegalStateException("closed");
        }
    }

    private synchronized void begin() {
        use("runSignature");
        if (running) {
            MISUSES.add("two runs at once");
        }
        running = true;
    }

    private synchronized void end() {
        running = false;
    }

    @Override
    public synchronized void close() {
        if (running) {
            MISUSES.add("closed during a run");
        }
        if (!closed) {
            closed = true;
            ownersOpen.decrementAndGet();
        }
    }
}
