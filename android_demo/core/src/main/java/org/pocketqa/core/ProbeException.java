package org.pocketqa.core;

/** Thrown when this runtime computes a model wrongly: its logits differ from PyTorch's logits in the file. */
public final class ProbeException extends ModelFileException {
    private static final long serialVersionUID = 1;

    public ProbeException(String message) {
        super(message);
    }
}
