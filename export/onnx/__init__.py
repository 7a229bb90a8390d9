"""Export to ONNX: tracing, quantization, checks."""
