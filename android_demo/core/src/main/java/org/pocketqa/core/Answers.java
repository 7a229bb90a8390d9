package org.pocketqa.core;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Answers of a model to one question, with the time of each part. */
public final class Answers {
    /** The answers: the one with the best span, then the others, most probable first; empty when no span of the passage can be an answer. */
    public final List<Candidate> candidates;
    /** The answer to give; null means "no answer in this text". */
    public final Candidate best;
    /** Smallest start[CLS] + end[CLS] over the windows. A larger null score means "no answer" is more likely. */
    public final double nullScore;

    /** Number of tokens of the question that were read. */
    public final int questionTokensRead;
    /** Number of tokens of the question; larger than `questionTokensRead` when it was truncated. */
    public final int questionTokens;
    /** Number of windows that were read. */
    public final int windows;
    /** Number of windows of the text; larger than `windows` when some were left out. */
    public final int windowsInText;
    /** Includes the passage only for the first question about it; its tokens are kept for the next. */
    public final long tokenizeNanos;
    public final long inferenceNanos;
    public final long decodeNanos;

    private final Double nullThreshold;
    private final Calibration calibration;

    Answers(
            List<Candidate> candidates,
            double nullScore,
            Double nullThreshold,
            Calibration calibration,
            int questionTokensRead,
            int questionTokens,
            int windows,
            int windowsInText,
            long tokenizeNanos,
            long inferenceNanos,
            long decodeNanos) {
        this.candidates = Collections.unmodifiableList(candidates);
        this.nullScore = nullScore;
        this.nullThreshold = nullThreshold;
        this.calibration = calibration;
        this.best = answered(candidates, nullScore, nullThreshold) ? candidates.get(0) : null;
        this.questionTokensRead = questionTokensRead;
        this.questionTokens = questionTokens;
        this.windows = windows;
        this.windowsInText = windowsInText;
        this.tokenizeNanos = tokenizeNanos;
        this.inferenceNanos = inferenceNanos;
        this.decodeNanos = decodeNanos;
    }

    /** Returns the answers as JSON. `fromJson` makes the same answers of it, for example in the app's next process. */
    public String toJson() {
        List<Object> scores = new ArrayList<Object>();
        List<Object> starts = new ArrayList<Object>();
        List<Object> ends = new ArrayList<Object>();
        List<Object> shares = new ArrayList<Object>();
        for (Candidate candidate : candidates) {
            scores.add(candidate.score);
            starts.add(candidate.start);
            ends.add(candidate.end);
            shares.add(candidate.share);
        }
        Map<String, Object> json = new HashMap<String, Object>();
        json.put("scores", scores);
        json.put("starts", starts);
        json.put("ends", ends);
        json.put("shares", shares);
        json.put("null_score", Double.isInfinite(nullScore) ? null : nullScore); // no window: JSON has no infinity
        json.put("null_threshold", nullThreshold);
        json.put("calibration", calibration == null ? null : calibration.json());
        json.put("question_tokens_read", questionTokensRead);
        json.put("question_tokens", questionTokens);
        json.put("windows", windows);
        json.put("windows_in_text", windowsInText);
        json.put("tokenize_ns", tokenizeNanos);
        json.put("inference_ns", inferenceNanos);
        json.put("decode_ns", decodeNanos);
        return Json.write(json);
    }

    /** Returns the answers of a JSON text of `toJson`. Throws ModelFileException if it is damaged. */
    public static Answers fromJson(String text) throws ModelFileException {
        Fields json = Fields.parse("the stored answers", text);
        List<?> scores = json.list("scores");
        int[] starts = json.integers("starts", 0, Integer.MAX_VALUE);
        int[] ends = json.integers("ends", 0, Integer.MAX_VALUE);
        List<?> shares = json.list("shares");
        if (starts.length != scores.size() || ends.length != scores.size() || shares.size() != scores.size()) {
            throw Fields.wrong("the stored answers: scores", "as many as starts, ends and shares", scores.size());
        }
        List<Candidate> candidates = new ArrayList<Candidate>();
        for (int i = 0; i < starts.length; i++) {
            double score = Fields.number("the stored answers: scores", scores.get(i));
            double share = Fields.number("the stored answers: shares", shares.get(i));
            candidates.add(new Candidate(score, starts[i], ends[i], share));
        }
        return new Answers(
                candidates,
                json.isNull("null_score") ? Double.POSITIVE_INFINITY : json.number("null_score"),
                json.isNull("null_threshold") ? null : json.number("null_threshold"),
                json.isNull("calibration") ? null : new Calibration(json.object("calibration")),
                (int) json.count("question_tokens_read"),
                (int) json.count("question_tokens"),
                (int) json.count("windows"),
                (int) json.count("windows_in_text"),
                json.count("tokenize_ns"),
                json.count("inference_ns"),
                json.count("decode_ns"));
    }

    /** Tests null score - best score <= threshold. Without a threshold (null), any candidate is an answer. */
    static boolean answered(List<Candidate> candidates, double nullScore, Double nullThreshold) {
        return !candidates.isEmpty() && (nullThreshold == null || !(nullScore - candidates.get(0).score > nullThreshold));
    }

    /** Returns whether `probabilities` are calibrated. */
    public boolean calibrated() {
        return calibration != null;
    }

    /**
     * Returns the probability that the passage has no answer.
     *
     * Without a calibration it is 1/2 at the threshold. Without a threshold too, "no answer" is impossible.
     */
    public double noAnswerProbability() {
        if (candidates.isEmpty()) {
            return 1;
        }
        double nullDifference = nullScore - candidates.get(0).score;
        if (calibration != null) {
            return calibration.noAnswer(nullDifference);
        }
        return nullThreshold == null ? 0 : new Calibration(1, -nullThreshold).noAnswer(nullDifference);
    }

    /** Returns the probability of each candidate: its share of what "no answer" leaves. */
    public double[] probabilities() {
        double[] probabilities = new double[candidates.size()];
        for (int i = 0; i < probabilities.length; i++) {
            probabilities[i] = candidates.get(i).share * (1 - noAnswerProbability());
        }
        return probabilities;
    }
}
