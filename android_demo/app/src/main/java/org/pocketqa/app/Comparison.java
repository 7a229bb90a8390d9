package org.pocketqa.app;

import android.content.Context;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.pocketqa.core.StoredModel;

/** Asks another model the last question, to compare it with the model in use. Main thread only. */
final class Comparison {
    final Listeners listeners = new Listeners();
    private final Context context;
    private final Engine engine;
    private final Workspace workspace;
    private Result first;
    private Result second;
    private String notice;
    private StoredModel asking;

    Comparison(Context context, Engine engine, Workspace workspace) {
        this.context = context;
        this.engine = engine;
        this.workspace = workspace;
    }

    /** Returns the models to choose from: all except the one that gave the answer. */
    List<StoredModel> others(List<StoredModel> models) {
        Result result = workspace.result();
        List<StoredModel> others = new ArrayList<StoredModel>();
        for (StoredModel model : models) {
            if (result != null && !model.file.equals(result.model.stored.file)) {
                others.add(model);
            }
        }
        return others;
    }

    /** Returns both answers, only the first, or none; always about the current passage and question. */
    List<Result> results() {
        Result result = workspace.result();
        if (result == null) {
            return Collections.emptyList();
        }
        List<Result> results = new ArrayList<Result>();
        results.add(result);
        if (result == first && second != null) {
            results.add(second);
        }
        return results;
    }

    /** Returns why the other model failed, as a sentence, or null. */
    String notice() {
        return workspace.result() == first ? notice : null;
    }

    /** Returns the model that is being asked, or null. */
    StoredModel asking() {
        return asking;
    }

    /** Asks another model, which is loaded for this question only. Returns false if the engine is busy. */
    boolean ask(StoredModel other) {
        Result result = workspace.result();
        if (result == null || !engine.start(asking(result, other), outcome())) {
            return false;
        }
        asking = other;
        first = result;
        second = null;
        notice = null;
        listeners.changed();
        return true;
    }

    private Engine.Work<Result> asking(Result result, StoredModel other) {
        int threads = result.model.threads;
        return (used, job) -> {
            try (LoadedModel model = engine.open(other, threads)) {
                return model.ask(result.passage, result.question, result.readAll, job);
            }
        };
    }

    private Engine.Outcome<Result> outcome() {
        return new Engine.Outcome<Result>() {
            @Override
            public void done(Result result) {
                second = result;
            }

            @Override
            public void failed(Throwable fault) {
                notice = Sentences.of(context, fault);
            }

            @Override
            public void ended() {
                asking = null;
                listeners.changed();
            }
        };
    }
}
