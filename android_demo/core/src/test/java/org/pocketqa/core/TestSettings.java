package org.pocketqa.core;

/** Settings for tests of windows and answers. */
final class TestSettings {
    private TestSettings() {}

    static QASettings of(int maxLength, int docStride, int maxQuestionLength, int nBest, int maxAnswerLength)
            throws ModelFileException {
        String text =
                String.format(
                        "{\"max_length\": %d, \"doc_stride\": %d, \"max_question_length\": %d, \"n_best\": %d, "
                                + "\"max_answer_length\": %d, \"null_threshold\": null}",
                        maxLength, docStride, maxQuestionLength, nBest, maxAnswerLength);
        return new QASettings(Fields.parse("settings", text));
    }
}
