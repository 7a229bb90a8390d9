package org.pocketqa.app;

import android.content.res.Resources;
import java.util.Map;
import org.pocketqa.core.BenchmarkReport;
import org.pocketqa.core.Times;

/** Formats the results of a benchmark. */
final class BenchmarkText {
    private BenchmarkText() {}

    /** Returns the model's name and its times: another model may be in use by now. */
    static String of(Resources words, Benchmarks.Measured measured) {
        BenchmarkReport report = measured.report;
        StringBuilder text = new StringBuilder(ModelText.name(measured.model.stored)).append('\n');
        for (BenchmarkReport.Part part : report.windows()) {
            Times times = part.times;
            text.append(
                    words.getString(
                            R.string.benchmark_windows,
                            part.signature.length,
                            part.threads,
                            times.percentileMs(50),
                            times.percentileMs(95),
                            times.meanMs(),
                            part.warmup.firstMs(),
                            times.count(),
                            part.loadMs));
        }
        for (BenchmarkReport.Part part : report.questions()) {
            Times times = part.times;
            double median = times.percentileMs(50);
            double p95 = times.percentileMs(95);
            text.append(words.getString(R.string.benchmark_questions, times.count(), part.threads, median, p95, times.meanMs()));
        }
        for (Map.Entry<Integer, String> failure : report.failures().entrySet()) {
            text.append(words.getString(R.string.benchmark_failed, failure.getKey(), failure.getValue()));
        }
        return text.toString();
    }
}
