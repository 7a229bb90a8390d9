package org.pocketqa.app;

import org.pocketqa.core.Mode;
import org.pocketqa.core.ModelFacts;
import org.pocketqa.core.ModelPackage;
import org.pocketqa.core.StoredModel;

/** Description of the model in use, for the screens. */
final class ModelInfo {
    final StoredModel stored;
    final ModelFacts facts;
    final int threads;
    /** False if XNNPACK crashed the app on this file; slower kernels are used then. */
    final boolean xnnpack;
    /** Largest difference from PyTorch's logits on this phone, relative to their standard deviation. */
    final double probeDifference;
    /** Whether the file has a threshold of mode strict. */
    final boolean strict;

    ModelInfo(StoredModel stored, ModelPackage model, int threads, boolean xnnpack, double probeDifference) {
        this.stored = stored;
        this.facts = model.facts;
        this.xnnpack = xnnpack;
        this.threads = threads;
        this.probeDifference = probeDifference;
        this.strict = model.settings.strictThreshold != null;
    }

    /** Returns the mode to use where the user chose this one: balanced where the file lacks it. */
    Mode usable(Mode chosen) {
        return chosen == Mode.STRICT && !strict ? Mode.BALANCED : chosen;
    }
}
