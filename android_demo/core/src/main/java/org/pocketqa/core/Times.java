package org.pocketqa.core;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Durations of runs, in order. */
public final class Times {
    private static final double NANOS_PER_MS = 1e6;

    private final List<Long> nanos = new ArrayList<Long>();

    void add(long time) {
        nanos.add(time);
    }

    /** Returns the nanoseconds in order. */
    List<Long> nanos() {
        return Collections.unmodifiableList(nanos);
    }

    public int count() {
        return nanos.size();
    }

    public double firstMs() {
        return nanos.get(0) / NANOS_PER_MS;
    }

    public double meanMs() {
        double sum = 0;
        for (long time : nanos) {
            sum += time;
        }
        return sum / nanos.size() / NANOS_PER_MS;
    }

    /** Returns a percentile by nearest rank: the smallest measured time that at least `percent` % of the times do not exceed. */
    public double percentileMs(int percent) {
        List<Long> sorted = new ArrayList<Long>(nanos);
        Collections.sort(sorted);
        int rank = (percent * sorted.size() + 99) / 100;
        return sorted.get(Math.max(rank, 1) - 1) / NANOS_PER_MS;
    }
}
