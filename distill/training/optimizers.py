"""Optimizers by name.

AdamW (Loshchilov and Hutter 2019) decays matrices but not biases and LayerNorms, as in BERT's own training.
Adafactor (Shazeer and Stern 2018) is transformers', with the settings published there for fine-tuning: an
external learning rate, so no relative steps and no scaling by a parameter's size; updates clipped at 1.0; no
momentum, no weight decay, no other clipping of gradients. For a matrix it keeps a row and a column instead of
two matrices.
"""

from collections.abc import Sequence

import torch
from torch import nn

MOMENTS = {"adamw": 2, "adafactor": 1}
"""Values that an optimizer keeps for each weight; Adafactor keeps far fewer of a matrix."""
CLIPS_GRADIENTS = {"adamw": True, "adafactor": False}


def build_optimizer(
    name: str, parameters: Sequence[nn.Parameter], learning_rate: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Return an optimizer of these parameters; `weight_decay` is for AdamW."""
    if name == "adafactor":
        from transformers.optimization import Adafactor

        adafactor: torch.optim.Optimizer = Adafactor(
            parameters,
            lr=learning_rate,
            scale_parameter=False,
            relative_step=False,
            warmup_init=False,
            clip_threshold=1.0,
        )
        return adafactor
    decayed = [p for p in parameters if p.ndim > 1]
    others = [p for p in parameters if p.ndim <= 1]  # biases and LayerNorms
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True)
