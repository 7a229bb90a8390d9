package org.pocketqa.core;

/** The runtime at hand computes a model wrongly: its logits are not those that PyTorch recorded in the file. */
public final class ProbeException extends ModelFileException {
    private static final long serialVersionUID = 1;

    public ProbeException(String message) {
        super(message);
    }
}
