"""Attention as the TFLite export writes it: the same numbers, in pieces that stay in a core's cache.

At 384 tokens the scores of 12 heads take 7 MB, and LiteRT writes and reads all of them for each of scale, mask and softmax.
Four heads are computed before the next four instead, and the query is scaled, which has T x D numbers, not the scores, which
have T x T. With one head alone the converter would make of each product an operator that int8 quantizes, at a loss of speed
and of precision.
"""

from typing import Any

import torch
from torch import Tensor, nn

from qa.models.encoders import Encoder

GROUPED = "pocketqa_grouped"
HEADS_AT_ONCE = 4


def grouped_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor, *, scaling: float, **_: Any
) -> tuple[Tensor, None]:
    """softmax(scaling Q K' + mask) V of heads (B, N, T, D) with an additive mask (B, 1, 1, T), as (B, T, N, D).

    It has the form that transformers' AttentionInterface wants, which expects the weights too, or None. Without dropout.
    """
    n_groups = -(-query.shape[1] // HEADS_AT_ONCE)
    parts = zip(*(states.tensor_split(n_groups, dim=1) for states in (query * scaling, key, value)), strict=True)
    outputs = [torch.softmax(q @ k.transpose(2, 3) + attention_mask, dim=-1) @ v for q, k, v in parts]
    return torch.cat(outputs, dim=1).transpose(1, 2).contiguous(), None


def use_grouped_attention(encoder: Encoder) -> None:
    """Make an encoder compute its attention so; transformers knows it by name from then on."""
    from transformers import AttentionInterface  # here, so that qa.models is the first to import it

    AttentionInterface.register(GROUPED, grouped_attention)
    encoder.set_attention(GROUPED)
