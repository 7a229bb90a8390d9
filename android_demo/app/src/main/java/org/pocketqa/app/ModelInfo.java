package org.pocketqa.app;

import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.StoredModel;

/** The model in use, as the screens show it. */
final class ModelInfo {
    final StoredModel stored;
    final String name;
    final String precision;
    final long parameters;
    final int threads;
    /** Largest difference from PyTorch's logits on this phone, relative to their deviation. */
    final double probeDifference;

    ModelInfo(StoredModel stored, ModelPackage model, int threads, double probeDifference) {
        this.stored = stored;
        this.name = model.name;
        this.precision = model.precision;
        this.parameters = model.parameters;
        this.threads = threads;
        this.probeDifference = probeDifference;
    }
}
