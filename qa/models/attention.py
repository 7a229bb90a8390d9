"""Plain attention in the precision of its products: of MPNet, and of every encoder that trains on a CPU.

transformers' "eager" adds a mask in fp32, and then all that has T x T numbers a head is fp32. A step of int8
QAT in bf16 took 1.25 times as long. The backward pass of PyTorch's fused attention takes twice as long as
this one's.
"""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from qa.base.quiet import NOISY_IMPORTS, quiet_logs

with quiet_logs(*NOISY_IMPORTS):
    from transformers import AttentionInterface

PLAIN = "pocketqa_plain"


def plain_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
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
    weights = functional.dropout(scores.softmax(-1), dropout, module.training)
    return (weights @ value).transpose(1, 2).contiguous(), None


AttentionInterface.register(PLAIN, plain_attention)
