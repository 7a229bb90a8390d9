package org.pocketqa.core;

import java.io.IOException;

/** Model files of the core's tests, for the app's tests. */
public final class ModelBytes {
    private ModelBytes() {}

    /** Returns a package of a few kilobytes with a vocabulary of letters. */
    public static byte[] small() {
        return ModelFiles.small().bytes();
    }

    /** Returns the same with one signature that takes any length. */
    public static byte[] anyLength() throws IOException {
        return ModelFiles.anyLength().bytes();
    }

    /** Returns the same with another name. */
    public static byte[] named(String name) {
        return ModelFiles.small().change(ModelFiles.INFO, "\"small\"", '"' + name + '"').bytes();
    }

    /** Returns the same with thresholds of modes balanced and strict, and with a calibration. */
    public static byte[] calibrated(double balanced, double strict) {
        String settings =
                "\"null_threshold\": " + balanced + ", \"strict_threshold\": " + strict
                        + ", \"calibration\": {\"temperature\": 20, \"offset\": 10}";
        return ModelFiles.small().change(ModelFiles.INFO, "\"null_threshold\": null", settings).bytes();
    }

    /** Returns the first model exported again: same name and precision, another size. */
    public static byte[] changed() {
        return ModelFiles.small().change(ModelFiles.INFO, "1234", "123456").bytes();
    }

    /** Returns the recorded package of a real model. */
    public static byte[] golden() throws IOException {
        return ModelFiles.golden().bytes();
    }
}
