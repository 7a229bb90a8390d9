"""Pruning: heads and neurons, or single weights, then recovery against the teacher."""
