package org.pocketqa.example;

import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.pocketqa.core.Candidate;
import org.pocketqa.core.LogitsModel;
import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.ProbeException;
import org.pocketqa.core.QuestionAnswerer;
import org.pocketqa.core.Signature;
import org.tensorflow.lite.Interpreter;

/** PocketQA over LiteRT's interpreter, as core/src/example/Ask.kt in Java. Use it on one thread, not the main thread. */
public final class PocketQa implements LogitsModel {
    private final Interpreter interpreter;
    private final QuestionAnswerer answerer;

    public PocketQa(File file, int threads) throws IOException, ProbeException {
        ModelPackage model = ModelPackage.read(file); // first: a damaged file crashes the interpreter, and with it the app
        interpreter = new Interpreter(file, new Interpreter.Options().setNumThreads(threads));
        answerer = new QuestionAnswerer(model, this);
        try {
            answerer.checkProbe(); // throws ProbeException if this phone computes the model wrongly
        } catch (ProbeException | RuntimeException refused) {
            close();
            throw refused;
        }
    }

    /** Returns the answer, cut from the passage; null: no answer in this text. */
    public String ask(String passage, String question) {
        Candidate best = answerer.ask(passage, question, false, (done, total) -> {}).best;
        return best == null ? null : passage.substring(best.start, best.end);
    }

    @Override
    public void run(Signature signature, int[] ids, int[] mask, int[] types, float[] starts, float[] ends) {
        Map<String, Object> inputs = new HashMap<>();
        inputs.put("input_ids", new int[][] {ids});
        inputs.put("attention_mask", new int[][] {mask});
        inputs.put("token_type_ids", new int[][] {types});
        Map<String, Object> outputs = new HashMap<>();
        outputs.put("start_logits", new float[][] {starts});
        outputs.put("end_logits", new float[][] {ends});
        interpreter.runSignature(inputs, outputs, signature.name);
    }

    @Override
    public void close() {
        interpreter.close();
    }

    /** Prints the answer to a question: FILE PASSAGE QUESTION. */
    public static void main(String[] args) throws IOException, ProbeException {
        try (PocketQa model = new PocketQa(new File(args[0]), 1)) {
            System.out.println(model.ask(args[1], args[2]));
        }
    }
}
