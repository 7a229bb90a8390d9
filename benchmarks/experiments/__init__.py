"""Experiments: heads on one encoder, football after SQuAD, and how fast training is."""
