"""Batches of windows for training: bucketed by length, repeatable by seed, as tensors with their answers."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from qa.text.features import Window, collate

# Batches are drawn from stretches this many batches long, sorted by length: little padding, still shuffled.
BUCKET_BATCHES = 50
# Lengths are rounded up to multiples of this: a few shapes instead of hundreds, for each of which a CPU or
# GPU library would build and keep kernels (gigabytes over an epoch of SQuAD).
LENGTH_MULTIPLE = 32


def bucketed_batches(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Return the batches of one epoch, every index once; the same for the same seed and epoch."""
    rng = np.random.default_rng((seed, epoch))
    order = rng.permutation(len(lengths))
    batches: list[np.ndarray] = []
    stretch = batch_size * BUCKET_BATCHES
    for first in range(0, len(order), stretch):
        part = order[first : first + stretch]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + batch_size] for i in range(0, len(part), batch_size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def to_tensors(
    windows: Sequence[Window], device: torch.device | str = "cpu", most: int | None = None
) -> dict[str, Tensor]:
    """Return the model's inputs, start_positions and end_positions (B,), and `valid` (B, T): possible answer
    tokens.

    T is a multiple of 32, at most `most`, the number of positions of the model.
    """
    longest = max(len(w.input_ids) for w in windows)
    length = -(-longest // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
    inputs = collate(windows, length if most is None else max(longest, min(length, most)))
    valid = np.zeros(inputs["input_ids"].shape, bool)
    valid[:, 0] = True
    for row, window in enumerate(windows):
        valid[row, window.context_begin : window.context_begin + len(window.char_starts)] = True
    positions = {
        "start_positions": np.array([w.start_position for w in windows]),
        "end_positions": np.array([w.end_position for w in windows]),
    }
    return {
        name: torch.from_numpy(array).to(device)
        for name, array in (inputs | positions | {"valid": valid}).items()
    }


def model_inputs(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the three tensors that a model's forward takes."""
    return {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
