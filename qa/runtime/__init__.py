"""Runtimes: PyTorch, ONNX Runtime and LiteRT behind one call, and the probe that checks them."""
