"""Unstructured magnitude pruning (Han et al. 2015), one-shot or in steps that follow Zhu and Gupta (2017).

Weights of the smallest magnitude over all of the model's Linears and LSTMs are set to zero and kept there. The arrays keep
their shape: the file compresses better, and nothing runs faster on dense kernels.
"""

import zlib
from pathlib import Path

import torch
from torch import Tensor

from qa.models.model import QAModel

CHUNK = 1 << 20


def linear_weights(model: QAModel) -> dict[str, Tensor]:
    """The weights that may become zero: those of every Linear and LSTM, in encoder and head; no biases, norms or embeddings."""
    kinds = (torch.nn.Linear, torch.nn.LSTM)
    modules = [(name, module) for name, module in model.named_modules() if isinstance(module, kinds)]
    return {f"{name}.{key}": weight for name, module in modules for key, weight in module.named_parameters() if "weight" in key}


def magnitude_masks(model: QAModel, sparsity: float) -> dict[str, Tensor]:
    """True where a weight stays: all but the `sparsity` share of smallest magnitude, ranked over the whole model."""
    weights = linear_weights(model)
    magnitudes = torch.cat([w.detach().abs().flatten() for w in weights.values()])
    n_zero = round(sparsity * len(magnitudes))
    if n_zero == 0:
        return {name: torch.ones_like(w, dtype=torch.bool) for name, w in weights.items()}
    threshold = magnitudes.kthvalue(n_zero).values
    return {name: w.detach().abs() > threshold for name, w in weights.items()}


def apply_masks(model: QAModel, masks: dict[str, Tensor]) -> None:
    """Set the masked weights to zero, in place."""
    with torch.no_grad():
        for name, weight in linear_weights(model).items():
            weight.mul_(masks[name])


def sparsity_at(step: int, n_steps: int, final: float, iterations: int) -> float:
    """Share of zeros from training step `step` on, reached in `iterations` stages over the first half of training.

    Cubic, as in Zhu and Gupta (2017), equation 1: much at first, while much is redundant. One iteration is one-shot.
    """
    stage_steps = max(1, n_steps // (2 * iterations))
    stage = min(iterations, step // stage_steps + 1)
    return final * (1 - (1 - stage / iterations) ** 3)


class IterativePruning:
    """Called after every training step: moves to the next sparsity when it is due, and keeps zeros zero."""

    def __init__(self, model: QAModel, n_steps: int, sparsity: float, iterations: int) -> None:
        self.model, self.n_steps, self.final, self.iterations = model, n_steps, sparsity, iterations
        self.sparsity = -1.0
        self(0)

    def __call__(self, step: int) -> None:
        """Prune for the state after `step` steps."""
        sparsity = sparsity_at(step, self.n_steps, self.final, self.iterations)
        if sparsity != self.sparsity:
            # Zeros are the smallest magnitudes there are, so what was pruned stays pruned.
            self.sparsity, self.masks = sparsity, magnitude_masks(self.model, sparsity)
        apply_masks(self.model, self.masks)


def share_of_zeros(model: QAModel) -> float:
    """Zeros among the weights that pruning may touch."""
    weights = linear_weights(model).values()
    return sum(int((w == 0).sum()) for w in weights) / sum(w.numel() for w in weights)


def compressed_bytes(path: Path) -> int:
    """Size of a file under zlib level 6: what a download or an APK would carry."""
    compressor, total = zlib.compressobj(6), 0
    with open(path, "rb") as stream:
        while block := stream.read(CHUNK):
            total += len(compressor.compress(block))
    return total + len(compressor.flush())
