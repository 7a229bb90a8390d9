"""Heads: from an encoder's states to two logits a token. HEADS has them all by name.

Every head is called with states (B, T, H), attention_mask (B, T) and token_type_ids (B, T), and returns (B,
T, 2). Logits of padding mean nothing, and padding moves no other logit.

Letters: B batch, T tokens, H hidden size of the encoder.

A head is made of Linear layers alone, convolutions and the pointer's LSTM cell included, so each precision,
pruning and every exporter means the same thing for all of them. None drops out: the encoder does while it is
fine-tuned, and distillation switches even that off. (Preite's code drops out after every activation.)
"""

from collections.abc import Callable

import torch
from torch import nn

from qa.base.errors import OptionError
from qa.models.heads.mlp import (
    ACTIVATIONS,
    FourLayerGELUSkipHead,
    FourLayerReLUHead,
    LinearHead,
    TwoLayerGELUHead,
    TwoLayerReLUSkipHead,
    TwoLayerTanhHead,
)
from qa.models.heads.pointer import PointerHead
from qa.models.heads.qermit import (
    ClsQuestion,
    ConcatHead,
    ConvolutionQuestion,
    MaxPoolQuestion,
    MultiConvolutionQuestion,
    QuestionSkipHead,
)

# From hidden size and activation (a name of ACTIVATIONS, for heads with a GELU) to a head with fresh weights.
HEADS: dict[str, Callable[[int, str], nn.Module]] = {
    "linear": LinearHead,
    "2l-tanh": TwoLayerTanhHead,
    "2l-gelu": TwoLayerGELUHead,
    "2l-relu-skip": TwoLayerReLUSkipHead,
    "4l-relu": FourLayerReLUHead,
    "4l-gelu-skip": FourLayerGELUSkipHead,
    "pointer": PointerHead,
    "qermit-cls": lambda hidden_size, _: QuestionSkipHead(hidden_size, ClsQuestion()),
    "qermit-maxpool": lambda hidden_size, _: QuestionSkipHead(hidden_size, MaxPoolQuestion()),
    "qermit-cnn": lambda hidden_size, _: QuestionSkipHead(hidden_size, ConvolutionQuestion(hidden_size)),
    "qermit-cnn-multi": lambda hidden_size, _: QuestionSkipHead(
        hidden_size, MultiConvolutionQuestion(hidden_size, False)
    ),
    "qermit-cnn-multi-highway": lambda hidden_size, _: QuestionSkipHead(
        hidden_size, MultiConvolutionQuestion(hidden_size, True)
    ),
    "qermit-concat": ConcatHead,
}


def build_head(name: str, hidden_size: int, activation: str = "gelu", seed: int | None = None) -> nn.Module:
    """A head with fresh weights; OptionError lists the known names. `seed` makes the weights repeatable."""
    if name not in HEADS:
        raise OptionError(f"unknown head {name!r}; known heads: {', '.join(HEADS)}")
    if activation not in ACTIVATIONS:
        raise OptionError(f"unknown head activation {activation!r}; known: {', '.join(ACTIVATIONS)}")
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        return HEADS[name](hidden_size, activation)
