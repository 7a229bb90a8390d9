package org.pocketqa.app;

import android.content.res.Resources;
import android.os.Build;
import java.io.File;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import org.pocketqa.core.LogitsModel;
import org.pocketqa.core.ModelFileException;
import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.Signature;
import org.tensorflow.lite.Interpreter;

/**
 * Model in the LiteRT interpreter. Only this class and its signature check use LiteRT.
 *
 * Call it only on the engine's thread; `cancel` may be called on any thread.
 */
final class LiteRtModel implements LogitsModel {
    private final Interpreter interpreter;
    private final Object closing = new Object();
    private boolean closed; // under the lock: a closed interpreter must not be cancelled
    private volatile boolean cancelled;

    private LiteRtModel(Interpreter interpreter) {
        this.interpreter = interpreter;
    }

    /**
     * Opens a model file and checks its signatures.
     *
     * @throws ModelFileException when the runtime is missing or refuses the file, or the file has other tensors
     */
    static LiteRtModel open(File file, List<Signature> signatures, int threads, boolean xnnpack, Resources words)
            throws ModelFileException {
        Interpreter interpreter = newInterpreter(file, threads, xnnpack, words);
        LiteRtModel model = null;
        try {
            new SignatureCheck(interpreter, words).check(signatures);
            model = new LiteRtModel(interpreter);
            return model;
        } catch (IllegalArgumentException refused) {
            throw new ModelFileException(words.getString(R.string.runtime_refuses, Sentences.reason(refused)));
        } finally {
            if (model == null) {
                interpreter.close();
            }
        }
    }

    private static Interpreter newInterpreter(File file, int threads, boolean xnnpack, Resources words)
            throws ModelFileException {
        try {
            Interpreter.Options options = new Interpreter.Options();
            options.setNumThreads(threads);
            options.setUseXNNPACK(xnnpack);
            options.setCancellable(true);
            return new Interpreter(file, options);
        } catch (LinkageError missing) { // classes or the native library for this processor are missing
            throw new ModelFileException(words.getString(R.string.runtime_missing, Arrays.toString(Build.SUPPORTED_ABIS)));
        } catch (RuntimeException refused) {
            throw new ModelFileException(words.getString(R.string.runtime_refuses, Sentences.reason(refused)));
        }
    }

    @Override
    public void run(Signature signature, int[] inputIds, int[] attentionMask, int[] tokenTypeIds, float[] starts, float[] ends) {
        if (cancelled) {
            throw new CancellationException();
        }
        // LiteRT resizes its tensors to arrays, which have a shape, but not to buffers.
        Map<String, Object> inputs = tensors(ModelPackage.INPUTS, row(inputIds), row(attentionMask), row(tokenTypeIds));
        Map<String, Object> outputs = tensors(ModelPackage.OUTPUTS, new float[][] {starts}, new float[][] {ends});
        try {
            interpreter.runSignature(inputs, outputs, signature.name);
        } catch (RuntimeException fault) {
            if (cancelled) { // LiteRT reports a cancelled run as a failed one
                throw new CancellationException();
            }
            throw fault;
        }
    }

    private static int[][] row(int[] values) {
        return new int[][] {values};
    }

    private static Map<String, Object> tensors(List<String> names, Object... values) {
        Map<String, Object> tensors = new HashMap<String, Object>();
        for (int i = 0; i < values.length; i++) {
            tensors.put(names.get(i), values[i]);
        }
        return tensors;
    }

    /** Cancels the current run, and all others until `resume`. */
    void cancel() {
        cancelled = true;
        synchronized (closing) {
            if (!closed) {
                interpreter.setCancelled(true);
            }
        }
    }

    void resume() {
        cancelled = false;
        interpreter.setCancelled(false);
    }

    @Override
    public void close() {
        synchronized (closing) {
            closed = true;
            interpreter.close();
        }
    }
}
