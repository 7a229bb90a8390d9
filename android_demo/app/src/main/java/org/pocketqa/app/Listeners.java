package org.pocketqa.app;

import java.util.ArrayList;
import java.util.List;

/** Those who want to hear that something changed; they look up what. Main thread only. */
final class Listeners {
    /** One of them. A screen joins in onStart and leaves in onStop, so that none is kept alive. */
    interface Listener {
        void changed();
    }

    private final List<Listener> all = new ArrayList<Listener>();

    void add(Listener listener) {
        all.add(listener);
    }

    void remove(Listener listener) {
        all.remove(listener);
    }

    void changed() {
        for (Listener listener : new ArrayList<Listener>(all)) { // one that hears of it may leave
            listener.changed();
        }
    }
}
