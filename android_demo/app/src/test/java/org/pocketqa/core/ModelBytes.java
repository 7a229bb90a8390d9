package org.pocketqa.core;

import java.io.IOException;

/** The core tests' model files, for the app's tests. */
public final class ModelBytes {
    private ModelBytes() {}

    /** A package of a few kilobytes; its vocabulary is letters. */
    public static byte[] small() {
        return ModelFiles.small().bytes();
    }

    /** The same of another model. */
    public static byte[] named(String name) {
        return ModelFiles.small().change(ModelFiles.INFO, "\"small\"", '"' + name + '"').bytes();
    }

    /** The first again, exported anew: the same name and precision, another size. */
    public static byte[] changed() {
        return ModelFiles.small().change(ModelFiles.INFO, "1234", "123456").bytes();
    }

    /** The recorded package of a real model. */
    public static byte[] golden() throws IOException {
        return ModelFiles.golden().bytes();
    }
}
