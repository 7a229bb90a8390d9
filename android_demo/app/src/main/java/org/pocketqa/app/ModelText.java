package org.pocketqa.app;

import android.content.Context;
import org.pocketqa.core.ModelFacts;
import org.pocketqa.core.StoredModel;

/** Formats the description of a model. */
final class ModelText {
    private static final double MILLION = 1e6;

    private ModelText() {}

    /** Returns the name in its package, or the file's name. */
    static String name(StoredModel model) {
        return model.facts == null ? model.name : model.facts.name + ", " + model.facts.precision;
    }

    /** Returns megabytes and parameters. */
    static String facts(Context context, StoredModel model) {
        double megabytes = model.bytes / MILLION;
        ModelFacts facts = model.facts;
        if (facts == null) {
            return context.getString(R.string.model_unreadable, megabytes);
        }
        return context.getString(R.string.model_facts, megabytes, facts.parameters / MILLION);
    }

    /** Returns threads, and the difference of its logits on this phone. */
    static String inUse(Context context, ModelInfo used) {
        String threads = context.getString(used.threads == 1 ? R.string.one_thread : R.string.threads_used, used.threads);
        return context.getString(R.string.model_in_use, threads, 100 * used.probeDifference);
    }
}
