package org.pocketqa.app;

/** What the engine is doing, at one moment. */
final class EngineState {
    /** One of these at a time; a problem can stand beside each. */
    enum Phase {
        NO_MODEL,
        LOADING,
        READY,
        WORKING
    }

    final Phase phase;
    /** The model in use, also while another is being loaded; null without any. */
    final ModelInfo model;
    /** Name of the file being loaded, else null. */
    final String loading;
    /** The question under way, else null. */
    final AskJob job;
    /** Why a file was refused; null once another is tried or the user has seen it. */
    final LoadProblem problem;

    EngineState(ModelInfo model, String loading, AskJob job, LoadProblem problem) {
        this.model = model;
        this.loading = loading;
        this.job = job;
        this.problem = problem;
        phase = loading != null ? Phase.LOADING : job != null ? Phase.WORKING : model != null ? Phase.READY : Phase.NO_MODEL;
    }
}
