"""Device on which training commands compute what is no training: importance, scores and thresholds."""

import torch


def best_device() -> str:
    """Return "cuda" where there is a GPU, else "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"
