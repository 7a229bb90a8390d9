"""Compression of PyTorch models: pruning, quantization-aware training, embeddings, casting."""
