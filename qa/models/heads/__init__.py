"""Heads: from an encoder's states to two logits a token. HEADS lists them by name.

Every head is called with states (B, T, H), attention_mask (B, T) and token_type_ids (B, T), and returns (B,
T, 2). Logits of padding mean nothing, and padding moves no other logit.

Letters: B batch, T tokens, H hidden size of the encoder.

A head is made of Linear layers only, convolutions and the pointer's LSTM cell included. So each precision,
pruning and every exporter mean the same for all heads. No head has dropout: the encoder drops out while it
is fine-tuned, and distillation turns that off too. (Preite's code drops out after every activation.)
"""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from qa.base.errors import OptionError

if TYPE_CHECKING:
    from torch import nn

DEFAULT_HEAD = "4l-gelu-skip"

# A function from hidden size and activation to a head with fresh weights; or its module:name, imported when a
# head is built.
HEADS: "dict[str, str | Callable[[int, str], nn.Module]]" = {
    "linear": "qa.models.heads.mlp:LinearHead",
    "2l-tanh": "qa.models.heads.mlp:two_layer_tanh_head",
    "2l-gelu": "qa.models.heads.mlp:two_layer_gelu_head",
    "2l-relu-skip": "qa.models.heads.mlp:two_layer_relu_skip_head",
    "4l-relu": "qa.models.heads.mlp:four_layer_relu_head",
    "4l-gelu-skip": "qa.models.heads.mlp:four_layer_gelu_skip_head",
    "pointer": "qa.models.heads.pointer:PointerHead",
    "qermit-cls": "qa.models.heads.qermit:cls_head",
    "qermit-maxpool": "qa.models.heads.qermit:maxpool_head",
    "qermit-cnn": "qa.models.heads.qermit:cnn_head",
    "qermit-cnn-multi": "qa.models.heads.qermit:cnn_multi_head",
    "qermit-cnn-multi-highway": "qa.models.heads.qermit:cnn_multi_highway_head",
    "qermit-concat": "qa.models.heads.qermit:ConcatHead",
}
# For heads with a GELU: the value of nn.GELU's `approximate`.
ACTIVATIONS = {"gelu": "none", "gelu_tanh": "tanh"}


def check_head(name: str, activation: str = "gelu") -> None:
    """Raise OptionError, listing the known names, unless both are known."""
    if name not in HEADS:
        raise OptionError(f"unknown head {name!r}; known heads: {', '.join(HEADS)}")
    if activation not in ACTIVATIONS:
        raise OptionError(f"unknown head activation {activation!r}; known: {', '.join(ACTIVATIONS)}")


def follows_activation(name: str) -> bool:
    """Return whether a head has a GELU, an nn.GELU, that `activation` chooses."""
    import torch
    from torch import nn

    with torch.device("meta"):  # nothing is computed
        modules = build_head(name, 768, "gelu_tanh", seed=0).modules()
    return any(isinstance(module, nn.GELU) and module.approximate == "tanh" for module in modules)


def build_head(name: str, hidden_size: int, activation: str = "gelu", seed: int | None = None) -> "nn.Module":
    """Return a head with fresh weights, the same ones for the same `seed`."""
    import torch

    check_head(name, activation)
    make = HEADS[name]
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        head: nn.Module = (resolve_name(make) if isinstance(make, str) else make)(hidden_size, activation)
        return head
