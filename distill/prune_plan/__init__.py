"""Pruning plan: importance and costs of heads and neurons, and the best selection within a size."""
