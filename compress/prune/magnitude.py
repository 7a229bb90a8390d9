"""Unstructured magnitude pruning (Han et al. 2015), one-shot or in steps that follow Zhu and Gupta (2017).

Weights of the smallest magnitude over all of the model's Linears and LSTMs are set to zero and kept there.
The arrays keep their shape: the file compresses better, and nothing runs faster on dense kernels.
"""

import torch
from torch import Tensor

from compress.options import MagnitudeOptions
from compress.prune.method import PruningMethod, linear_weights, share_of_zeros
from distill.training.trainer import AfterStep
from qa.models.model import QAModel


class Magnitude(PruningMethod[MagnitudeOptions]):
    """Sets weights to zero while the model recovers."""

    def after_step(self, model: QAModel) -> AfterStep:
        """Return what keeps zeros zero and makes more when they are due."""
        return IterativePruning(model, self.flags.sparsity, self.flags.iterations)

    def report(self, before: QAModel, after: QAModel) -> str:
        """Return the share of weights that are zero."""
        return f"zeros among the weights of Linears and LSTMs {share_of_zeros(after):.1%}"


def magnitude_masks(model: QAModel, sparsity: float) -> dict[str, Tensor]:
    """Return masks, True where a weight stays: all but the model's `sparsity` share of smallest magnitude."""
    weights = linear_weights(model)
    magnitudes = torch.cat([w.detach().abs().flatten() for w in weights.values()])
    n_zero = round(sparsity * len(magnitudes))
    if n_zero == 0:
        return {name: torch.ones_like(w, dtype=torch.bool) for name, w in weights.items()}
    threshold = magnitudes.kthvalue(n_zero).values
    return {name: w.detach().abs() > threshold for name, w in weights.items()}


def sparsity_at(step: int, n_steps: int, final: float, iterations: int) -> float:
    """Return the share of zeros from training step `step` on, reached in `iterations` stages.

    The stages lie in the first half of training. The share is cubic, as in Zhu and Gupta (2017), equation 1:
    large at first, while much is redundant. One iteration is one-shot.
    """
    stage_steps = max(1, n_steps // (2 * iterations))
    stage = iterations if 2 * step >= n_steps else min(iterations, step // stage_steps + 1)
    return final * (1 - (1 - stage / iterations) ** 3)


class IterativePruning:
    """Callback before training and after every step: raises the sparsity when due, keeps zeros zero."""

    def __init__(self, model: QAModel, sparsity: float, iterations: int) -> None:
        self.model = model
        self.final = sparsity
        self.iterations = iterations
        self.sparsity = -1.0

    def __call__(self, step: int, n_steps: int) -> None:
        """Prune for the state after `step` of `n_steps` steps."""
        sparsity = sparsity_at(step, n_steps, self.final, self.iterations)
        if sparsity != self.sparsity:
            # Zeros are the smallest magnitudes there are, so what was pruned stays pruned.
            self.sparsity = sparsity
            self.masks = magnitude_masks(self.model, sparsity)
        with torch.no_grad():
            for name, weight in linear_weights(self.model).items():
                weight.mul_(self.masks[name])
