package org.pocketqa.core;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Results of a benchmark, and their JSON with the time of every run. benchmarks/measure/phone_report.py describes and reads it. */
public final class BenchmarkReport {
    private static final int VERSION = 1;

    /** Runs with one number of threads: windows of one signature, or questions. */
    public static final class Part {
        public final int threads;
        /** Null for questions. */
        public final Signature signature;
        /** Time to open the model. */
        public final double loadMs;
        /** Warm-up runs of windows; the first is the first run after opening. */
        public final Times warmup = new Times();
        /** Timed runs: the runtime call for a window, everything from text to answer for a question. */
        public final Times times = new Times();
        private int windows;
        private final Times tokenizing = new Times();
        private final Times inference = new Times();
        private final Times decoding = new Times();
        private final Map<String, Object> conditions = new LinkedHashMap<String, Object>();
        private final long loadNanos;

        Part(int threads, Signature signature, long loadNanos, Integer thermalStatus) {
            this.threads = threads;
            this.signature = signature;
            this.loadNanos = loadNanos;
            this.loadMs = loadNanos / 1e6;
            conditions.put("thermal_before", thermalStatus);
        }

        /** Adds the times of one answered question. */
        void add(Answers answers) {
            windows += answers.windows;
            tokenizing.add(answers.tokenizeNanos);
            inference.add(answers.inferenceNanos);
            decoding.add(answers.decodeNanos);
            times.add(answers.tokenizeNanos + answers.inferenceNanos + answers.decodeNanos);
        }

        /** Adds the conditions after the runs; `memoryBefore` was read before the model was opened. */
        Part ended(Integer thermalStatus, Long memoryBefore, Long memoryNow) {
            conditions.put("thermal_after", thermalStatus);
            conditions.put("memory_bytes_before_load", memoryBefore);
            conditions.put("memory_bytes_after", memoryNow);
            return this;
        }

        private Map<String, Object> json() {
            Map<String, Object> json = new LinkedHashMap<String, Object>();
            json.put("threads", threads);
            if (signature != null) {
                json.put("signature", signature.name);
                json.put("length", signature.length);
                json.put("load_ns", loadNanos);
                json.put("warmup_ns", warmup.nanos());
                json.put("times_ns", times.nanos());
            } else {
                json.put("windows", windows);
                json.put("times_ns", times.nanos());
                json.put("tokenize_ns", tokenizing.nanos());
                json.put("inference_ns", inference.nanos());
                json.put("decode_ns", decoding.nanos());
            }
            json.putAll(conditions);
            return json;
        }
    }

    private final List<Part> windows = new ArrayList<Part>();
    private final List<Part> questions = new ArrayList<Part>();
    private final Map<Integer, String> failures = new LinkedHashMap<Integer, String>(); // key: number of threads

    /** Returns the signatures of each number of threads. */
    public List<Part> windows() {
        return Collections.unmodifiableList(windows);
    }

    /** Returns the questions of each number of threads. */
    public List<Part> questions() {
        return Collections.unmodifiableList(questions);
    }

    /** Returns the error of each number of threads that failed. */
    public Map<Integer, String> failures() {
        return Collections.unmodifiableMap(failures);
    }

    void add(List<Part> measured) {
        for (Part part : measured) {
            (part.signature != null ? windows : questions).add(part);
        }
    }

    void fail(int threads, String why) {
        failures.put(threads, why);
    }

    /** Returns the report as JSON, with `facts` about the measurement: app, began_unix_ms, runtime, phone, model. */
    public String json(Map<String, Object> facts) {
        Map<String, Object> json = new LinkedHashMap<String, Object>();
        json.put("format", "pocketqa benchmark");
        json.put("version", VERSION);
        json.putAll(facts);
        json.put("windows", all(windows));
        json.put("questions", all(questions));
        List<Object> failed = new ArrayList<Object>();
        for (Map.Entry<Integer, String> failure : failures.entrySet()) {
            Map<String, Object> entry = new LinkedHashMap<String, Object>();
            entry.put("threads", failure.getKey());
            entry.put("error", failure.getValue());
            failed.add(entry);
        }
        json.put("failures", failed);
        return Json.write(json);
    }

    private static List<Object> all(List<Part> parts) {
        List<Object> json = new ArrayList<Object>();
        for (Part part : parts) {
            json.add(part.json());
        }
        return json;
    }
}
