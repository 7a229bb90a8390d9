package org.pocketqa.core;

/** Window and answer settings of a model, as they stand in its file; lengths are in tokens. */
public final class QASettings {
    /** A window longer than this is no setting, it is a damaged or hostile file. */
    private static final int MOST = 8192;
    /** n best starts times n best ends are compared in every window. */
    private static final int MOST_ANSWERS = 256;

    public final int maxLength;
    /** Step from one window of a long passage to the next (a step, not an overlap). */
    public final int docStride;
    public final int maxQuestionLength;
    public final int nBest;
    public final int maxAnswerLength;
    /** Leave a question unanswered when null score - best score exceeds this; null always answers. */
    public final Double nullThreshold;

    QASettings(Fields json) throws ModelFileException {
        docStride = json.integer("doc_stride", 1, MOST);
        maxQuestionLength = json.integer("max_question_length", 1, MOST);
        nBest = json.integer("n_best", 1, MOST_ANSWERS);
        maxAnswerLength = json.integer("max_answer_length", 1, MOST);
        // Room for [CLS], two [SEP] and one token of the passage beside the longest question.
        maxLength = json.integer("max_length", maxQuestionLength + 4, MOST);
        nullThreshold = json.isNull("null_threshold") ? null : json.number("null_threshold");
    }
}
