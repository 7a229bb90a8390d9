package org.pocketqa.app;

import java.util.ArrayList;
import java.util.List;

/** List of listeners for changes, which read the new state themselves. Main thread only. */
final class Listeners {
    /** Listener. A screen is added in onStart and removed in onStop, so that it is not leaked. */
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
        for (Listener listener : new ArrayList<Listener>(all)) { // a listener may remove itself
            listener.changed();
        }
    }
}
