package org.pocketqa.core;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Real windows with PyTorch's logits, for each signature. They detect a runtime that computes wrongly (qa/runtime/probe.py). */
final class Probe {
    /** Largest tolerance of each precision, whatever a file says; qa/formats/precision.py has the same. */
    static final Map<String, Double> TOLERANCES = tolerances();

    private final String precision;
    /** Largest relative difference allowed. */
    final double tolerance;
    private final List<Recorded> windows = new ArrayList<Recorded>();

    /** One window with its logits. */
    static final class Recorded {
        final int[] inputIds;
        private final int contextBegin;
        final float[] startLogits;
        final float[] endLogits;

        private Recorded(Fields json, int longest, int vocabularySize) throws ModelFileException {
            inputIds = json.integers("input_ids", 0, vocabularySize - 1);
            contextBegin = json.integer("context_begin", 0, inputIds.length);
            startLogits = json.floats("start_logits");
            endLogits = json.floats("end_logits");
            int n = inputIds.length;
            if (n == 0 || n > longest || startLogits.length != n || endLogits.length != n) {
                throw Fields.wrong("probe.json: windows", "as long as their logits, from 1 to " + longest, n);
            }
        }

        /** Copies this window into the runner. */
        void prepare(WindowRunner runner) {
            int[] ids = runner.prepare(inputIds.length, contextBegin);
            System.arraycopy(inputIds, 0, ids, 0, inputIds.length);
        }
    }

    Probe(Fields json, String precision, List<Signature> signatures, int vocabularySize) throws ModelFileException {
        this.precision = precision;
        Fields limits = json.has("tolerance") ? json.object("tolerance") : null;
        double most = TOLERANCES.get(precision);
        tolerance = limits != null && limits.has(precision) ? Math.min(most, limits.number(precision)) : most;
        if (tolerance <= 0) {
            throw Fields.wrong("probe.json: tolerance: " + precision, "above 0", tolerance);
        }
        int longest = signatures.get(signatures.size() - 1).length;
        List<Signature> uncovered = new ArrayList<Signature>(signatures);
        for (Object window : json.list("windows")) {
            Recorded recorded = new Recorded(Fields.of("probe.json: windows", window), longest, vocabularySize);
            windows.add(recorded);
            uncovered.remove(Signature.smallestThatFits(recorded.inputIds.length, signatures));
        }
        if (!uncovered.isEmpty()) {
            throw new ModelFileException(
                    "probe.json has no window for the signature " + Fields.shown(uncovered.get(0).name)
                            + ", so it cannot be checked. Export the model again.");
        }
    }

    private static Map<String, Double> tolerances() {
        Map<String, Double> most = new LinkedHashMap<String, Double>();
        most.put("fp32", 0.0001);
        most.put("fp16", 0.01);
        most.put("int8", 0.25);
        most.put("int8-weights", 0.15);
        most.put("int4", 0.8);
        return Collections.unmodifiableMap(most);
    }

    /** Returns the windows (at least one) that run in this signature. */
    List<Recorded> windowsFor(Signature signature, List<Signature> signatures) {
        List<Recorded> found = new ArrayList<Recorded>();
        for (Recorded window : windows) {
            if (Signature.smallestThatFits(window.inputIds.length, signatures) == signature) {
                found.add(window);
            }
        }
        return found;
    }

    /** Returns the signatures that a benchmark times. One that takes any length stands for each length of a window. */
    List<Signature> timed(List<Signature> signatures) {
        Signature first = signatures.get(0);
        if (!first.anyLength) {
            return signatures;
        }
        Map<Integer, Signature> byLength = new TreeMap<Integer, Signature>();
        for (Recorded window : windows) {
            int n = window.inputIds.length;
            byLength.put(n, new Signature(first.name, n, true));
        }
        return new ArrayList<Signature>(byLength.values());
    }

    /** Runs all windows and returns the largest relative difference. Throws ProbeException if it exceeds the tolerance. */
    double check(WindowRunner runner) throws ProbeException {
        double worst = 0;
        for (Recorded window : windows) {
            window.prepare(runner);
            runner.run();
            double start = relativeDifference(window.startLogits, runner.startLogits);
            double end = relativeDifference(window.endLogits, runner.endLogits);
            worst = Math.max(worst, Math.max(start, end));
        }
        if (!(worst <= tolerance)) {
            throw new ProbeException(
                    String.format(
                            Locale.ROOT,
                            "This phone's runtime computes this %s model wrongly: its logits differ from PyTorch's by %.3g "
                                    + "of their standard deviation, at most %.3g is allowed. "
                                    + "Export the model in another precision, or update the app.",
                            precision,
                            worst,
                            tolerance));
        }
        return worst;
    }

    /** Returns the RMS difference divided by the reference's standard deviation; infinite when `seen` is not finite. */
    static double relativeDifference(float[] reference, float[] seen) {
        double squares = 0;
        double sum = 0;
        double sumOfSquares = 0;
        int n = reference.length;
        for (int i = 0; i < n; i++) {
            double difference = (double) seen[i] - reference[i];
            squares += difference * difference;
            sum += reference[i];
        }
        for (int i = 0; i < n; i++) {
            double fromMean = reference[i] - sum / n;
            sumOfSquares += fromMean * fromMean;
        }
        double difference = Math.sqrt(squares / n);
        boolean finite = !Double.isNaN(difference) && !Double.isInfinite(difference);
        return finite ? difference / Math.max(Math.sqrt(sumOfSquares / n), 1e-6) : Double.POSITIVE_INFINITY;
    }
}
