"""Low-rank adaptation (LoRA; Hu et al. 2021): train two thin matrices beside every frozen Linear.

The backward pass computes no gradient of a full matrix, and a checkpoint keeps only the thin ones.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from qa.base.errors import OptionError
from qa.models.encoders import Encoder

SCALE = 2.0  # alpha / rank, as in the paper's own runs on language understanding


class LoraLinear(nn.Linear):
    """A Linear whose weight W (out, in) is frozen, and used as W + SCALE up @ down.

    `down` is (rank, in), random; `up` is (out, rank), zero at first: training starts from W.
    """

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__(base.in_features, base.out_features, base.bias is not None, device="meta")
        self.weight = base.weight
        self.bias = base.bias
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Map x (..., in) to (..., out)."""
        return linear(x, self.weight, self.bias) + linear(linear(x, self.down), SCALE * self.up)

    def merged(self) -> nn.Linear:
        """Return a plain Linear with the trained weight."""
        plain = nn.Linear(self.in_features, self.out_features, self.bias is not None, device="meta")
        plain.weight = nn.Parameter(self.weight.detach() + SCALE * self.up.detach() @ self.down.detach())
        plain.bias = self.bias
        return plain


def add_lora(encoder: Encoder, rank: int, seed: int) -> None:
    """Freeze `encoder` in place and give every Linear of its layers trainable matrices of this rank.

    Raises OptionError for an encoder without transformer layers.
    """
    if encoder.architecture.parts is None:
        raise OptionError(
            f"--lora-rank {rank}: a {encoder.config.model_type} encoder has no transformer layers"
        )
    encoder.requires_grad_(False)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for layer in dict.fromkeys(encoder.layers):
            _replace(layer, nn.Linear, lambda base: LoraLinear(base, rank))


def merge_lora(encoder: Encoder) -> None:
    """Put a plain Linear in the place of every LoraLinear of `encoder`."""
    for layer in dict.fromkeys(encoder.layers):
        _replace(layer, LoraLinear, LoraLinear.merged)


def _replace(layer: nn.Module, kind: type[nn.Linear], make: Callable[[Any], nn.Linear]) -> None:
    for name, module in list(layer.named_modules()):
        if type(module) is kind:
            parent, _, attribute = name.rpartition(".")
            setattr(layer.get_submodule(parent), attribute, make(module))
