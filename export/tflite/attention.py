"""Attention as the TFLite export writes it: the same numbers, in parts that stay in a core's cache.

At 384 tokens the scores of 12 heads take 7 MB, and LiteRT writes and reads all of them for each of scale,
mask and softmax. So up to four heads are computed at a time. The query is scaled, which has T x D numbers,
not the scores, which have T x T. Of a single head's products the converter would make operators that int8
quantizes, at a loss of speed and precision. One Linear gives query, key and value: int8 then quantizes its
input once, not three times.

The products of attention are in fp32 in all precisions. In int8, rounded attention weights changed 3 % of a
student's answers (1,500 questions of SQuAD 2.0) and saved 6 to 11 % of a window's time on x86.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from qa.models.encoders import Encoder

HEADS_AT_ONCE = 4  # at 384 tokens the scores of more do not stay in a core's cache
GROUPED = "pocketqa_grouped"
FUSED = "pocketqa_fused"


def head_groups(n_heads: int) -> list[slice]:
    """Return the heads that are computed together: equal groups of two to four, or one group of all.

    Equal groups are split without naming a length (export.tflite.passes.any_length).
    """
    sizes = [size for size in range(HEADS_AT_ONCE, 1, -1) if n_heads % size == 0]
    size = sizes[0] if sizes else n_heads
    return [slice(first, first + size) for first in range(0, n_heads, size)]


def grouped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    scaling: float,
    **_: Any,
) -> tuple[Tensor, None]:
    """Compute softmax(scaling Q K' + mask) V of heads (B, N, T, D) as (B, T, N, D), without dropout.

    The additive mask is (B, 1, 1, T), or (1, N, T, T) where it has MPNet's bias of positions. transformers'
    AttentionInterface also expects the weights, or None.
    """
    return _attend((query * scaling, key, value), attention_mask), None


def fused_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor, **_: Any
) -> tuple[Tensor, None]:
    """Compute the same after `fuse_projections`: `query` (B, 3 N, T, D) holds scaled query, key and value.

    `key` and `value` are unused.
    """
    return _attend(query.chunk(3, dim=1), attention_mask), None


def _attend(states: Sequence[Tensor], attention_mask: Tensor) -> Tensor:
    """Return the output, (B, T, N, D), of query, key and value, computed by groups of heads."""
    outputs = []
    for group in head_groups(states[0].shape[1]):
        q, k, v = (state[:, group] for state in states)
        mask = attention_mask[:, group] if attention_mask.shape[1] > 1 else attention_mask
        outputs.append(torch.softmax(q @ k.transpose(2, 3) + mask, dim=-1) @ v)
    return torch.cat(outputs, dim=1).transpose(1, 2).contiguous()


def use_grouped_attention(encoder: Encoder) -> None:
    """Make an encoder compute grouped attention, in place.

    Where its layers have parts, one Linear gives query, key and value. transformers knows both functions by
    name from then on.
    """
    from transformers import AttentionInterface  # here, so that qa.models is the first to import it

    parts = encoder.layer_parts() if encoder.architecture.parts else []
    for part in parts:
        fuse_projections(part.query, part.key, part.value, part.head_size**-0.5)
    AttentionInterface.register(GROUPED, grouped_attention)
    AttentionInterface.register(FUSED, fused_attention)
    encoder.set_attention(FUSED if parts else GROUPED)


def fuse_projections(query: nn.Linear, key: nn.Linear, value: nn.Linear, scaling: float) -> None:
    """Make `query` give the scaled query, the key and the value, one after the other.

    `key` and `value` stay as they are.
    """
    with torch.no_grad():
        query.weight = nn.Parameter(torch.cat([query.weight * scaling, key.weight, value.weight]))
        query.bias = nn.Parameter(torch.cat([query.bias * scaling, key.bias, value.bias]))
    query.out_features = len(query.bias)
