package org.pocketqa.app;

import org.pocketqa.core.StoredModel;

/** State of the engine at one moment. */
final class EngineState {
    /** Exactly one of these holds; each can have a problem in addition. */
    enum Phase {
        NO_MODEL,
        LOADING,
        READY,
        WORKING
    }

    final Phase phase;
    /** Model in use, also while another is being loaded; null without one. */
    final ModelInfo model;
    /** Name of the file being loaded, or null. */
    final String loading;
    /** Running question, or null. */
    final AskJob job;
    /** Why a file was refused; null after another is tried or the user has seen it. */
    final LoadProblem problem;

    EngineState(ModelInfo model, String loading, AskJob job, LoadProblem problem) {
        this.model = model;
        this.loading = loading;
        this.job = job;
        this.problem = problem;
        phase = loading != null ? Phase.LOADING : job != null ? Phase.WORKING : model != null ? Phase.READY : Phase.NO_MODEL;
    }

    /** Tests whether this version of the file is the model in use. */
    boolean uses(StoredModel stored) {
        return model != null && model.stored.file.equals(stored.file) && model.stored.version.equals(stored.version);
    }
}
