"""Attention in int8: weights that suit it and compute the same, and the scales of its activations.

A BERT's attention loses most where its weights are rounded: over 384 tokens many are below 1/510. Three
changes keep every number, except for rounding, and make that loss two to three times smaller on a trained 6 x
384 model:

- A constant added to all keys changes no softmax, and one added to all values is added to the output, since
attention's weights sum to 1. So the mean that attention finds is taken from keys and values (as "smooth K" of
SageAttention, Zhang et al. 2024), and added to the bias of the output. A weight that is rounded to 0 then
counts as the mean.

- Heads are sorted by their largest weights, for the heads of a group share a scale (export.tflite.attention).

- Channels of query and key are balanced and values scaled, so one scale serves the three, and one Linear
makes them.
"""

import itertools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from qa.models.architectures import LayerParts
from qa.models.encoders import attention
from qa.models.model import QAModel
from qa.text.features import Window, collate

HEADS_AT_ONCE = 4  # at 384 tokens the scores of more do not stay in a core's cache
WATCHED = "pocketqa_watched"
# Largest weight of a group that may be kept: flat attention has no large ones, and finer steps serve it
# better.
CLIPS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.06)
# Scores this far below the largest of their row are all the same: exp(-12) of 384 tokens is 0.2 %.
DEPTH = 12.0
# A layer's attention stays in fp32 when int8 changes its output by more than this share of its deviation.
LARGEST_ERROR = 0.25
TINY = 1e-6  # instead of a range of 0

# Gets the step, and its query (scaled), key and value, (N, T, D) each.
Observe = Callable[[int, Tensor, Tensor, Tensor], None]
_observer: ContextVar[Callable[[Tensor, Tensor, Tensor], None]] = ContextVar("observer")


@dataclass(frozen=True)
class GroupScales:
    """Scales of the int8 tensors of one group of heads; the zero point is 0 where none is given."""

    n_heads: int
    projection: float
    """Scales of query, key and value, the same in all groups of a layer."""
    scores: float
    scores_zero_point: int
    weights: float
    """Scale of the softmax, with the zero point -128."""
    context: float
    """Scale of the heads' output, the same in all groups of a layer."""


@dataclass
class _Ranges:
    """Ranges of one layer's heads over all its steps."""

    query: Tensor
    key: Tensor
    """Largest magnitudes, (N, D)."""
    value: Tensor
    context: Tensor
    """Largest magnitudes, (N,)."""
    highest: Tensor
    lowest: Tensor
    """Largest score, and the smallest that matters, (N,)."""
    errors: Tensor
    """Squared error of the output for each of CLIPS, (len(CLIPS), N)."""

    def join(self, other: "_Ranges") -> None:
        """Widen to the ranges of another window."""
        for name in ("query", "key", "value", "context", "highest"):
            setattr(self, name, torch.maximum(getattr(self, name), getattr(other, name)))
        self.lowest = torch.minimum(self.lowest, other.lowest)
        self.errors = self.errors + other.errors


def head_groups(n_heads: int) -> list[slice]:
    """Return the heads that are computed together: up to four, and more than one where possible."""
    n_groups = -(-n_heads // HEADS_AT_ONCE)
    sizes = [len(part) for part in torch.arange(n_heads).tensor_split(n_groups)]
    return [slice(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(n_groups)]


def prepare_attention(
    model: QAModel, windows: Sequence[Window], largest_error: float = LARGEST_ERROR
) -> list[GroupScales | None]:
    """Rewrite the weights in place; return the scales of every group of every step, None where fp32 stays.

    The scales are measured on `windows`. Steps with one head are left out: the converter makes no
    BATCH_MATMUL of them. An encoder whose layers have no such parts stays as it is, and the list is empty.
    """
    encoder = model.encoder
    layers = list(model.encoder.layers)
    parts = (
        dict(zip(dict.fromkeys(layers), encoder.layer_parts(), strict=True))
        if encoder.architecture.parts
        else {}
    )
    if not parts:
        return []
    _remove_means(model, windows, layers, parts)
    ranges: dict[nn.Module, _Ranges] = {}

    def observe(step: int, query: Tensor, key: Tensor, value: Tensor) -> None:
        seen = _observed(query, key, value)
        known = ranges.setdefault(layers[step], seen)
        if known is not seen:
            known.join(seen)

    _watch(model, windows, observe)
    scales = {layer: _rewrite(part, ranges[layer]) for layer, part in parts.items()}
    steps = [scales[layer] for layer in layers]
    errors = dict.fromkeys(parts, 0.0)
    for layer, error in zip(layers, _relative_errors(model, windows, steps), strict=True):
        errors[layer] = max(errors[layer], error)
    several = [layer for layer in layers if parts[layer].n_heads > 1]
    return [group if errors[layer] <= largest_error else None for layer in several for group in scales[layer]]


def _watch(model: QAModel, windows: Sequence[Window], observe: Observe) -> None:
    """Run the model on each window, unpadded, and call `observe` for every attention."""
    from transformers import AttentionInterface

    AttentionInterface.register(WATCHED, watched_attention)
    with attention(model.encoder, WATCHED), torch.no_grad():
        for window in windows:
            steps = itertools.count()
            token = _observer.set(lambda *states, steps=steps: observe(next(steps), *states))
            try:
                model(**{name: torch.from_numpy(array) for name, array in collate([window]).items()})
            finally:
                _observer.reset(token)


def watched_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    scaling: float,
    **_: Any,
) -> tuple[Tensor, None]:
    """Show query (scaled), key and value to the observer, and compute the attention of an unpadded window.

    transformers keeps the function for the life of the process, so it holds no model.
    """
    query = query * scaling
    _observer.get()(query[0], key[0], value[0])
    return (_softmax(query, key) @ value).transpose(1, 2).contiguous(), None


def _softmax(query: Tensor, key: Tensor) -> Tensor:
    return torch.softmax(query @ key.transpose(-2, -1), dim=-1)


def _remove_means(
    model: QAModel, windows: Sequence[Window], layers: Sequence[nn.Module], parts: dict[nn.Module, LayerParts]
) -> None:
    """Shift the biases of key and value so that attention finds 0 on average.

    The output's bias makes up for the values.
    """
    sums: dict[nn.Module, tuple[Tensor, Tensor, int]] = {}

    def observe(step: int, query: Tensor, key: Tensor, value: Tensor) -> None:
        weights = _softmax(query, key)
        keys, values, n = sums.get(layers[step], (torch.zeros(()), torch.zeros(()), 0))
        sums[layers[step]] = (
            keys + (weights @ key).sum(1),
            values + (weights @ value).sum(1),
            n + query.shape[1],
        )

    _watch(model, windows, observe)
    for layer, part in parts.items():
        keys, values, n = sums[layer]
        with torch.no_grad():
            part.key.bias.sub_(keys.flatten() / n)
            part.value.bias.sub_(values.flatten() / n)
            part.attention_output.bias.add_(part.attention_output.weight @ values.flatten() / n)


def _round(states: Tensor, scale: float, zero_point: int = 0) -> Tensor:
    """Fake-quantize to int8."""
    return (torch.clamp(torch.round(states / scale) + zero_point, -128, 127) - zero_point) * scale


def _observed(query: Tensor, key: Tensor, value: Tensor) -> _Ranges:
    """Return the ranges of one attention call, of query, key and value (N, T, D) each."""
    scores = query @ key.transpose(1, 2)
    weights = torch.softmax(scores, dim=-1)
    context = weights @ value
    errors = [(_round(weights, clip / 255, -128) @ value - context).square().sum((1, 2)) for clip in CLIPS]
    lowest = torch.maximum(scores.amin((1, 2)), scores.amax(2).amin(1) - DEPTH)
    of_heads = value.abs().amax((1, 2)), context.abs().amax((1, 2))
    return _Ranges(
        query.abs().amax(1), key.abs().amax(1), *of_heads, scores.amax((1, 2)), lowest, torch.stack(errors)
    )


def _rewrite(parts: LayerParts, seen: _Ranges) -> list[GroupScales]:
    """Sort the heads, balance query and key, scale the value, all in place; return the resulting scales."""
    order = torch.argsort(seen.errors.argmin(0), stable=True)
    query = seen.query[order].clamp(min=TINY)
    key = seen.key[order].clamp(min=TINY)
    balance = (key / query).sqrt().flatten()
    largest = float((key * query).sqrt().max())
    of_value = largest / max(float(seen.value.max()), TINY)
    rows = torch.arange(len(balance)).reshape(len(order), -1)[order].flatten()
    with torch.no_grad():
        for linear, factor in (
            (parts.query, balance),
            (parts.key, 1 / balance),
            (parts.value, balance.new_full((), of_value)),
        ):
            linear.weight.copy_(linear.weight[rows] * factor[..., None])
            linear.bias.copy_(linear.bias[rows] * factor)
        parts.attention_output.weight.copy_(parts.attention_output.weight[:, rows] / of_value)
    context = max(float(seen.context.max()), TINY) * of_value / 127
    scales = []
    for group in head_groups(len(order)):
        heads = order[group]
        scores, zero_point = _scale_of(float(seen.lowest[heads].min()), float(seen.highest[heads].max()))
        clip = CLIPS[int(seen.errors[:, heads].sum(1).argmin())]
        scales.append(GroupScales(len(heads), largest / 127, scores, zero_point, clip / 255, context))
    return scales


def _scale_of(lowest: float, highest: float) -> tuple[float, int]:
    """Return scale and zero point of an int8 range that includes 0."""
    low = min(lowest, 0.0)
    high = max(highest, TINY)
    scale = (high - low) / 255
    return scale, round(-128 - low / scale)


def _in_int8(query: Tensor, key: Tensor, value: Tensor, scales: Sequence[GroupScales]) -> Tensor:
    """Return the heads' output in int8 arithmetic, (N, T, D)."""
    outputs = []
    for group, of in zip(head_groups(len(query)), scales, strict=True):
        q, k, v = (_round(states[group], of.projection) for states in (query, key, value))
        scores = _round(q @ k.transpose(1, 2), of.scores, of.scores_zero_point)
        outputs.append(_round(_round(torch.softmax(scores, dim=-1), of.weights, -128) @ v, of.context))
    return torch.cat(outputs)


def _relative_errors(
    model: QAModel, windows: Sequence[Window], scales: Sequence[Sequence[GroupScales]]
) -> list[float]:
    """Return each step's root-mean-square error of its output in int8.

    It is relative to the output's deviation over the tokens.
    """
    sums = [[0.0, 0.0] for _ in scales]

    def observe(step: int, query: Tensor, key: Tensor, value: Tensor) -> None:
        wanted = _softmax(query, key) @ value
        sums[step][0] += float((_in_int8(query, key, value, scales[step]) - wanted).square().sum())
        sums[step][1] += float((wanted - wanted.mean(1, keepdim=True)).square().sum())

    _watch(model, windows, observe)
    return [(error / max(total, TINY)) ** 0.5 for error, total in sums]
