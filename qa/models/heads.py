"""Heads: from encoder states (B, T, H) to two logits a token (B, T, 2). One class each, listed in HEADS.

Letters: B batch, T tokens, H hidden size of the encoder.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from qa.errors import OptionError

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,  # exact, by the error function
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
}


class LinearHead(nn.Module):
    """One Linear to 2, the head of BERT's own SQuAD model (Devlin et al. 2019)."""

    def __init__(self, hidden_size: int, activation: str) -> None:
        super().__init__()
        self.output = nn.Linear(hidden_size, 2)

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, H) -> (B, T, 2)."""
        return self.output(states)


class FourLayerGELUSkipHead(nn.Module):
    """H-1024-H(+skip)-384-2 with GELU after the first three layers (Preite 2020, chapter 6.1).

    The encoder's output is added after the second layer's GELU.
    """

    def __init__(self, hidden_size: int, activation: str) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Linear(hidden_size, 1024), nn.Linear(1024, hidden_size), nn.Linear(hidden_size, 384), nn.Linear(384, 2)]
        )
        self.activation = ACTIVATIONS[activation]()

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, H) -> (B, T, 2)."""
        wide = self.activation(self.layers[0](states))  # (B, T, 1024)
        skip = self.activation(self.layers[1](wide)) + states  # (B, T, H)
        narrow = self.activation(self.layers[2](skip))  # (B, T, 384)
        return self.layers[3](narrow)


HEADS: dict[str, type[nn.Module]] = {"linear": LinearHead, "4l-gelu-skip": FourLayerGELUSkipHead}


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
