package org.pocketqa.app;

/** Reason why a model file could not be used. */
final class LoadProblem {
    final String file;
    final String sentence;

    LoadProblem(String file, String sentence) {
        this.file = file;
        this.sentence = sentence;
    }
}
