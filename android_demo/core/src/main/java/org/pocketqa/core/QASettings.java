package org.pocketqa.core;

/** Window and answer settings of a model, read from its file. Lengths are in tokens. */
public final class QASettings {
    /** Maximum window length; a larger value means a damaged or hostile file. */
    private static final int MOST = 8192;
    /** Maximum n_best; every window compares n best starts with n best ends. */
    private static final int MOST_ANSWERS = 256;

    public final int maxLength;
    /** Step between windows of a long passage (not the overlap). */
    public final int docStride;
    public final int maxQuestionLength;
    public final int nBest;
    public final int maxAnswerLength;
    /** No-answer threshold: "no answer" if null score - best score exceeds it. Null: always answer. */
    public final Double nullThreshold;
    /** No-answer threshold of mode strict; null if the file has none. */
    public final Double strictThreshold;
    /** Null if the file has none: probabilities are softmax scores then. */
    final Calibration calibration;

    QASettings(Fields json) throws ModelFileException {
        docStride = json.integer("doc_stride", 1, MOST);
        maxQuestionLength = json.integer("max_question_length", 1, MOST);
        nBest = json.integer("n_best", 1, MOST_ANSWERS);
        maxAnswerLength = json.integer("max_answer_length", 1, MOST);
        // Space for [CLS], two or three separators and one passage token besides the longest question.
        maxLength = json.integer("max_length", maxQuestionLength + 5, MOST);
        nullThreshold = json.isNull("null_threshold") ? null : json.number("null_threshold");
        strictThreshold = json.has("strict_threshold") ? json.number("strict_threshold") : null;
        calibration = json.has("calibration") ? new Calibration(json.object("calibration")) : null;
    }

    /**
     * Returns the no-answer threshold of a mode; null: always answer.
     *
     * @throws IllegalArgumentException for STRICT when the file has no strict threshold
     */
    public Double threshold(Mode mode) {
        if (mode == Mode.STRICT && strictThreshold == null) {
            throw new IllegalArgumentException("The model has no strict threshold. Choose another mode.");
        }
        return mode == Mode.ANSWERING ? null : mode == Mode.STRICT ? strictThreshold : nullThreshold;
    }
}
