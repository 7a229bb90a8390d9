"""Attention as training computes it on a CPU: scores, mask and softmax in the precision of the products.

transformers' "eager" adds a mask in fp32, and then all that has T x T numbers a head is fp32. A step of int8
QAT in bf16 took 1.25 times as long. The backward pass of PyTorch's fused attention takes twice as long as
this one's.
"""

from typing import Any

from torch import Tensor, nn
from torch.nn.functional import dropout as dropped
from transformers import AttentionInterface

TRAINED = "pocketqa_trained"


def trained_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    scaling: float,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[Tensor, None]:
    """Compute softmax(scaling Q K' + mask) V of heads (B, N, T, D) as (B, T, N, D).

    The additive mask is broadcast to (B, N, T, T). transformers' AttentionInterface also expects the weights,
    or None.
    """
    scores = (scaling * query) @ key.transpose(2, 3)
    scores += attention_mask.to(scores.dtype)
    weights = dropped(scores.softmax(-1), dropout, module.training)
    return (weights @ value).transpose(1, 2).contiguous(), None


AttentionInterface.register(TRAINED, trained_attention)
