package org.pocketqa.core;

import java.util.List;

/** Answers questions about passages with one model. Not thread-safe. */
public final class QuestionAnswerer {
    private final QASettings settings;
    private final WordPieceTokenizer tokenizer;
    private final Probe probe;
    private final WindowRunner runner;
    private String knownPassage;
    private Tokens knownTokens;

    public QuestionAnswerer(ModelPackage model, LogitsModel logits) {
        settings = model.settings;
        tokenizer = model.tokenizer();
        probe = model.probe;
        runner = new WindowRunner(logits, model.signatures, tokenizer.padId);
    }

    /**
     * Runs the model on the windows recorded in its file.
     *
     * @return the largest difference from PyTorch's logits, relative to their standard deviation
     * @throws ProbeException when it exceeds the tolerance; do not use this runtime then
     */
    public double checkProbe() throws ProbeException {
        return probe.check(runner);
    }

    /** Answers one question in mode balanced. */
    public Answers ask(String passage, String question, boolean readAll, Progress progress) {
        return ask(passage, question, readAll, Mode.BALANCED, progress);
    }

    /**
     * Answers one question. An empty passage has no answer.
     *
     * If a text has many windows, reads only those most similar to the question, unless `readAll` is set. Exceptions of the model
     * and of `progress` are passed on; the next question can be asked after one.
     *
     * @throws ArithmeticException when the model computes a logit that is not a finite number
     * @throws IllegalArgumentException when the model has no threshold of this mode
     */
    public Answers ask(String passage, String question, boolean readAll, Mode mode, Progress progress) {
        Double nullThreshold = settings.threshold(mode);
        long began = System.nanoTime();
        Tokens passageTokens = tokens(passage, progress);
        Tokens questionTokens = tokenizer.encode(question);
        int questionSize = Math.min(questionTokens.size(), settings.maxQuestionLength);
        List<int[]> all = Windows.spans(questionSize, passageTokens.size(), settings);
        List<int[]> spans = readAll ? all : Preselection.choose(questionTokens, questionSize, passageTokens, all, progress);
        List<Window> windows = Windows.over(spans, Windows.contextBegin(questionSize));
        long tokenizeNanos = System.nanoTime() - began;
        progress.windowDone(0, windows.size());

        Decoder decoder = new Decoder(passageTokens, settings);
        long inferenceNanos = 0;
        long decodeNanos = 0;
        for (int i = 0; i < windows.size(); i++) {
            Window window = windows.get(i);
            fill(runner.prepare(window.size(), window.contextBegin), window, questionTokens, questionSize, passageTokens);
            long started = System.nanoTime();
            runner.run();
            long computed = System.nanoTime();
            decoder.add(window, runner.startLogits, runner.endLogits);
            decodeNanos += System.nanoTime() - computed;
            inferenceNanos += computed - started;
            progress.windowDone(i + 1, windows.size());
        }
        long ranking = System.nanoTime();
        List<Candidate> candidates = decoder.candidates();
        decodeNanos += System.nanoTime() - ranking;
        double nullScore = decoder.nullScore();
        return new Answers(
                candidates,
                nullScore,
                nullThreshold,
                settings.calibration,
                questionSize,
                questionTokens.size(),
                windows.size(),
                all.size(),
                tokenizeNanos,
                inferenceNanos,
                decodeNanos);
    }

    /** Returns the tokens of a passage. Keeps those of the last one, because users usually ask more questions about it. */
    Tokens tokens(String passage, Progress progress) {
        if (!passage.equals(knownPassage)) {
            knownPassage = null; // a phone may lack the memory for the tokens of two long texts
            knownTokens = null;
            knownTokens = tokenizer.encodePassage(passage, progress);
            knownPassage = passage;
        }
        return knownTokens;
    }

    private void fill(int[] ids, Window window, Tokens question, int questionSize, Tokens passage) {
        ids[0] = tokenizer.clsId;
        question.copyIds(0, questionSize, ids, 1);
        ids[questionSize + 1] = tokenizer.sepId;
        passage.copyIds(window.firstToken, window.tokenCount, ids, window.contextBegin);
        ids[window.size() - 1] = tokenizer.sepId;
    }
}
