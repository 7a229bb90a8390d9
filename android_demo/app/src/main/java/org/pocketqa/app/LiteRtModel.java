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
import org.pocketqa.core.Signature;
import org.tensorflow.lite.Interpreter;

/**
 * A model in the LiteRT interpreter. Beside its signature check it is the only class that knows LiteRT.
 *
 * All calls come from one thread, the engine's; `cancel` may come from any other.
 */
final class LiteRtModel implements LogitsModel {
    private final Interpreter interpreter;
    private final Map<String, SignatureBuffers> buffers = new HashMap<String, SignatureBuffers>();
    private final Object closing = new Object();
    private boolean closed; // under the lock: an interpreter must not be cancelled once it is closed
    private volatile boolean cancelled;

    private LiteRtModel(Interpreter interpreter, List<Signature> signatures) {
        this.interpreter = interpreter;
        for (Signature signature : signatures) {
            buffers.put(signature.name, new SignatureBuffers(signature.length));
        }
    }

    /**
     * Opens a model file and checks its signatures.
     *
     * @throws ModelFileException when there is no runtime, or it refuses the file, or the file asks for other tensors
     */
    static LiteRtModel open(File file, List<Signature> signatures, int threads, boolean xnnpack, Resources words)
            throws ModelFileException {
        Interpreter interpreter = newInterpreter(file, threads, xnnpack, words);
        LiteRtModel model = null;
        try {
            new SignatureCheck(interpreter, words).check(signatures);
            model = new LiteRtModel(interpreter, signatures);
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
        } catch (LinkageError missing) { // no classes, or no native library for this processor
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
        SignatureBuffers tensors = buffers.get(signature.name);
        tensors.fill(inputIds, attentionMask, tokenTypeIds);
        try {
            interpreter.runSignature(tensors.inputs, tensors.outputs, signature.name);
        } catch (RuntimeException fault) {
            if (cancelled) { // LiteRT reports a cancelled run like a failed one
                throw new CancellationException();
            }
            throw fault;
        }
        tensors.read(starts, ends);
    }

    /** Ends the run under way, and refuses all others until `resume`. */
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
