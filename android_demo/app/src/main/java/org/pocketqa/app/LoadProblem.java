package org.pocketqa.app;

/** Why a model file was not taken into use. */
final class LoadProblem {
    final String file;
    final String sentence;

    LoadProblem(String file, String sentence) {
        this.file = file;
        this.sentence = sentence;
    }
}
