"""Export to ONNX and TFLite, with parity checks that can fail."""
