"""Remove attention heads and feed-forward neurons physically; the rest keeps its weights."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from qa.models.architectures import LayerParts


def keep_outputs(linear: nn.Linear, kept: Tensor) -> None:
    """Keep only these output rows of a Linear, in place; `kept` (K,) holds their indices."""
    linear.weight = nn.Parameter(linear.weight.detach()[kept].clone())
    if linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias.detach()[kept].clone())
    linear.out_features = len(kept)


def keep_inputs(linear: nn.Linear, kept: Tensor) -> None:
    """Keep only these input columns of a Linear, in place."""
    linear.weight = nn.Parameter(linear.weight.detach()[:, kept].clone())
    linear.in_features = len(kept)


def keep_neurons(parts: LayerParts, kept: Tensor) -> None:
    """Keep only these feed-forward neurons of a layer."""
    keep_outputs(parts.up, kept)
    keep_inputs(parts.down, kept)


def keep_heads(parts: LayerParts, kept: Tensor) -> None:
    """Keep only these attention heads: their rows of query, key and value, their columns of the output."""
    rows = (kept[:, None] * parts.head_size + torch.arange(parts.head_size)).flatten()
    for linear in (parts.query, parts.key, parts.value):
        keep_outputs(linear, rows)
    keep_inputs(parts.attention_output, rows)
    if parts.on_keep_heads is not None:
        parts.on_keep_heads(kept)


def shrink_to(layers: Sequence[LayerParts], n_heads: Sequence[int], n_neurons: Sequence[int]) -> None:
    """Give every layer these sizes (weights are arbitrary until loaded). ValueError when they do not fit."""
    if len(n_heads) != len(layers) or len(n_neurons) != len(layers):
        raise ValueError(
            f"sizes given for {len(n_heads)} and {len(n_neurons)} layers, the encoder has {len(layers)}"
        )
    for number, (parts, heads, neurons) in enumerate(zip(layers, n_heads, n_neurons, strict=True)):
        if not (0 < heads <= parts.n_heads and 0 < neurons <= parts.n_neurons):
            sizes = f"{parts.n_heads} and {parts.n_neurons}"
            raise ValueError(f"layer {number}: {heads} heads and {neurons} neurons do not fit in {sizes}")
        if heads < parts.n_heads:
            keep_heads(parts, torch.arange(heads))
        if neurons < parts.n_neurons:
            keep_neurons(parts, torch.arange(neurons))
