"""Select heads and neurons: the best shares of all layers, or the most importance within a size."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from distill.prune_plan.costs import UnitCosts
from distill.prune_plan.importance import Importance
from qa.base.cli import check_option

NEURON_MULTIPLE = 32  # int8 and fp32 kernels of LiteRT and ONNX Runtime work on tiles of 8 to 32 outputs
TINY = 1e-30  # a layer whose units all do nothing must not divide by 0


@dataclass(frozen=True)
class PruningPlan:
    """Heads and neurons that each layer keeps, as ascending indices."""

    heads: list[Tensor]
    neurons: list[Tensor]


def between_layers(importance: Importance) -> Importance:
    """Return scores to compare layers by: each divided by the root of its layer's sum.

    Fisher information holds for the removal of one unit. For many units of a layer together it is too low in
    the last layers and too high in the first. Of a MiniLM pruned to 8 of 12 heads and half of its neurons,
    plain scores kept 1,376 neurons of the second layer and 32 of the last. Its KL divergence from the full
    model was 0.65; with half of every layer's neurons it was 0.34. With these scores, which kept 768 and 288,
    it was 0.30.
    """

    def scaled(scores: list[Tensor]) -> list[Tensor]:
        return [layer / layer.sum().clamp(min=TINY).sqrt() for layer in scores]

    return Importance(scaled(importance.heads), scaled(importance.neurons))


def keep_best(scores: Sequence[Tensor], keep: float, multiple: int) -> list[Tensor]:
    """Return the indices kept in each layer, ascending: the best `keep` of all layers together.

    Each layer's number is rounded up to a multiple of `multiple`, at least one: kernels work in tiles, so
    other widths save no time.
    """
    n_kept = max(1, round(keep * sum(len(s) for s in scores)))
    order = torch.cat(list(scores)).sort(descending=True, stable=True).indices  # of equals the earlier one
    is_best = torch.zeros(len(order), dtype=torch.bool).index_fill_(0, order[:n_kept], True)
    kept = []
    for layer, best in zip(scores, is_best.split([len(s) for s in scores]), strict=True):
        above = int(best.sum())
        n = min(len(layer), max(multiple, -(-above // multiple) * multiple))
        kept.append(layer.sort(descending=True, stable=True).indices[:n].sort().values)
    return kept


class _Unit(NamedTuple):
    """Smallest part that is kept or removed: a head, or a tile of neurons, of one layer."""

    layer: list[Tensor]
    """Heads or neurons that its layer keeps so far."""
    indices: Tensor
    importance: float
    mb: float


def best_within(importance: Importance, limit: float, costs: UnitCosts) -> PruningPlan:
    """Return the units with the most importance in at most `limit` MB.

    Greedy: the most important unit for its size first, while it fits. Every layer keeps a head and a tile of
    neurons; OptionError when these take more than the limit.
    """
    heads: list[list[Tensor]] = [[] for _ in importance.heads]
    neurons: list[list[Tensor]] = [[] for _ in importance.neurons]
    of_heads = ((layer, scores, 1, costs.head) for layer, scores in zip(heads, importance.heads, strict=True))
    of_neurons = (
        (layer, scores, NEURON_MULTIPLE, costs.neuron)
        for layer, scores in zip(neurons, importance.neurons, strict=True)
    )
    optional = []
    mb = costs.rest
    for layer, scores, size, cost in chain(of_heads, of_neurons):
        tiles = scores.sort(descending=True, stable=True).indices.split(size)
        layer.append(tiles[0])
        mb += len(tiles[0]) * cost
        optional += [_Unit(layer, tile, float(scores[tile].sum()), len(tile) * cost) for tile in tiles[1:]]
    smallest = f"the size of the model with a head and {NEURON_MULTIPLE} neurons a layer"
    least = math.ceil(100 * mb) / 100
    check_option(mb <= limit, "--target-mb", limit, f"at least {least:.2f}, {smallest}")
    for unit in sorted(optional, key=lambda unit: unit.importance / unit.mb, reverse=True):
        if mb + unit.mb <= limit:
            mb += unit.mb
            unit.layer.append(unit.indices)
    return PruningPlan(*([torch.cat(layer).sort().values for layer in layers] for layers in (heads, neurons)))
