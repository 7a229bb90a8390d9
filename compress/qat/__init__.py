"""Quantization-aware training: the integers of the exported file, computed in PyTorch."""
