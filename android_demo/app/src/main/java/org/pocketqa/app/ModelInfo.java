package org.pocketqa.app;

import org.pocketqa.core.ModelFacts;
import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.StoredModel;

/** The model in use, as the screens show it. */
final class ModelInfo {
    final StoredModel stored;
    final ModelFacts facts;
    final int threads;
    /** False for a file on which XNNPACK's kernels ended the app: it is computed by slower ones. */
    final boolean xnnpack;
    /** Largest difference from PyTorch's logits on this phone, relative to their deviation. */
    final double probeDifference;

    ModelInfo(StoredModel stored, ModelPackage model, int threads, boolean xnnpack, double probeDifference) {
        this.stored = stored;
        this.facts = model.facts;
        this.xnnpack = xnnpack;
        this.threads = threads;
        this.probeDifference = probeDifference;
    }
}
