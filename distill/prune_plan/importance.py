"""Importance of attention heads and feed-forward neurons: empirical Fisher information of a mask on each.

A mask m = 1 multiplies the output of the unit. dL/dm is the sum over tokens of activation x gradient, so one
backward pass gives it for all units. Its square, averaged over windows, estimates how much the loss grows
when the unit is removed (Kwon et al. 2022, section 3; LeCun et al. 1990). Unlike |gradient x activation|
(Michel et al. 2019) it is a second-order quantity of the same loss everywhere, so units of different layers
can be ranked together.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from distill.training.batches import to_tensors
from distill.training.objectives import supervised
from qa.base.errors import OptionError
from qa.base.files import write_whole
from qa.base.progress import Progress
from qa.models.model import QAModel
from qa.text.features import Window

BATCH = 8
IMPORTANCE = "importance.safetensors"


@dataclass(frozen=True)
class Importance:
    """Scores by layer: `heads[l]` (heads,), `neurons[l]` (neurons,); larger matters more."""

    heads: list[Tensor]
    neurons: list[Tensor]


class _InputSquares:
    """Adds up (sum over tokens of input x its gradient)^2 by channel group of a Linear's input, over windows.

    A layer that runs several times has one mask for all of them, so their sums are added before the square.
    """

    def __init__(self, linear: nn.Linear, group: int) -> None:
        self.group = group
        self.total = torch.zeros(linear.in_features // group)
        self.batch: Tensor | float = 0.0
        self.handle = linear.register_forward_pre_hook(self._seen)

    def _seen(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        values: Tensor = args[0]  # (B, T, C)
        if values.requires_grad:
            # Were `values` itself kept by its own hook, autograd would never free the batch.
            values.register_hook(partial(self._add, values.detach()))

    def _add(self, values: Tensor, gradient: Tensor) -> None:
        by_channel = (values.float() * gradient.float()).sum(dim=1)  # (B, C)
        by_group = by_channel.unflatten(-1, (-1, self.group)).sum(-1)  # (B, C / group)
        self.batch = self.batch + by_group.cpu()

    def end_batch(self) -> None:
        """Square the sums of the batch and add them to the total."""
        self.total += torch.as_tensor(self.batch).pow(2).sum(0)
        self.batch = 0.0


def sample_windows(windows: Sequence[Window], n: int, seed: int) -> list[Window]:
    """Return at most `n` of the windows, drawn at random; the same ones for the same seed."""
    return [windows[i] for i in np.random.default_rng(seed).permutation(len(windows))[:n]]


def sample_labelled(windows: Sequence[Window], n: int, seed: int) -> list[Window]:
    """Sample windows whose question has a label: no other one says what matters. OptionError without any."""
    labelled = [window for window in windows if window.start_position >= 0]
    if not labelled:
        raise OptionError(
            "--data: no question has a label, so the importance of heads and neurons cannot be measured; add "
            "labelled questions"
        )
    return sample_windows(labelled, n, seed)


def fingerprint(model: QAModel, windows: Sequence[Window]) -> str:
    """Hash all that importance depends on."""
    hashed = hashlib.sha256()
    for tensor in model.state_dict().values():
        hashed.update(tensor.numpy().tobytes())
    for window in windows:
        hashed.update(window.input_ids.tobytes())
        hashed.update(f"{window.context_begin} {window.start_position} {window.end_position};".encode())
    return hashed.hexdigest()


def cached_importance(model: QAModel, windows: Sequence[Window], path: Path) -> Importance:
    """Return the importance that the file `path` holds for this model and these windows; else measure and
    store it.

    A resumed run then prunes the same units, whatever the machine's rounding.
    """
    depends_on = fingerprint(model, windows)
    with suppress(FileNotFoundError, SafetensorError), safe_open(path, "pt") as file:
        if file.metadata() == {"depends_on": depends_on}:
            n_layers = len(file.keys()) // 2
            heads, neurons = (
                [file.get_tensor(f"{kind}.{i}") for i in range(n_layers)] for kind in ("heads", "neurons")
            )
            return Importance(heads, neurons)
    importance = measure_importance(model, windows)
    tensors = {
        f"{kind}.{i}": scores
        for kind in ("heads", "neurons")
        for i, scores in enumerate(getattr(importance, kind))
    }
    write_whole(path, save(tensors, {"depends_on": depends_on}))
    return importance


def measure_importance(model: QAModel, windows: Sequence[Window]) -> Importance:
    """Return Fisher scores of heads and neurons on windows with gold answers; the model stays the same."""
    parts = model.encoder.layer_parts()
    heads = [_InputSquares(p.attention_output, p.head_size) for p in parts]
    neurons = [_InputSquares(p.down, 1) for p in parts]
    model.eval()  # without dropout: the function that will be pruned
    try:
        for first in Progress(range(0, len(windows), BATCH), desc="importance", unit="batch"):
            batch = to_tensors(windows[first : first + BATCH], most=model.encoder.max_length)
            batch["n_labelled"] = torch.tensor(1.0)  # a sum: every window counts with its own gradient
            supervised(model, batch, torch.arange(0).numpy())["loss"].backward()
            model.zero_grad(set_to_none=True)
            for counter in (*heads, *neurons):
                counter.end_batch()
    finally:
        for counter in (*heads, *neurons):
            counter.handle.remove()
    return Importance([c.total for c in heads], [c.total for c in neurons])
