"""Heads that see one token at a time: one Linear, and the feed-forward stacks of Preite 2020, chapter 6.1
(pages 51 to 55).

The chapter gives widths for BERT-base, H = 768. Inner widths are kept as they are for any H, those equal to
768 follow H.
"""

from itertools import pairwise

from torch import Tensor, nn

from qa.models.heads import ACTIVATIONS


class LinearHead(nn.Module):
    """H-2: one Linear, the head of BERT's own SQuAD model (Devlin et al. 2019; Preite 2020, 6.1.1)."""

    def __init__(self, hidden_size: int, activation: str) -> None:
        super().__init__()
        self.output = nn.Linear(hidden_size, 2)

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, H) to (B, T, 2)."""
        return self.output(states)


class FeedForwardHead(nn.Module):
    """Linear layers H-widths-2 with one activation after each but the last.

    `skip_after` counts layers from 1: the encoder's states are added to what that layer's activation gives.
    """

    def __init__(
        self, hidden_size: int, widths: tuple[int, ...], activation: nn.Module, skip_after: int | None = None
    ) -> None:
        super().__init__()
        sizes = (hidden_size, *widths, 2)
        self.layers = nn.ModuleList(nn.Linear(n_in, n_out) for n_in, n_out in pairwise(sizes))
        self.activation = activation
        self.skip_after = skip_after

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, H) to (B, T, 2)."""
        hidden = states
        for number, layer in enumerate(self.layers[:-1], start=1):
            hidden = self.activation(layer(hidden))  # (B, T, width)
            if number == self.skip_after:
                hidden = hidden + states
        return self.layers[-1](hidden)


def two_layer_tanh_head(hidden_size: int, activation: str) -> FeedForwardHead:
    """H-384-2 with tanh (Preite 2020, 6.1.2, figure 6.2)."""
    return FeedForwardHead(hidden_size, (384,), nn.Tanh())


def two_layer_gelu_head(hidden_size: int, activation: str) -> FeedForwardHead:
    """H-256-2 with GELU (Preite 2020, 6.1.2, figure 6.3)."""
    return FeedForwardHead(hidden_size, (256,), nn.GELU(ACTIVATIONS[activation]))


def two_layer_relu_skip_head(hidden_size: int, activation: str) -> FeedForwardHead:
    """H-H(+skip)-2: W2 (ReLU(W1 x + b1) + x) + b2 (Preite 2020, 6.1.2, figure 6.4).

    The encoder's output is added after the ReLU, as in the author's code.
    """
    return FeedForwardHead(hidden_size, (hidden_size,), nn.ReLU(), skip_after=1)


def four_layer_relu_head(hidden_size: int, activation: str) -> FeedForwardHead:
    """H-1024-200-2 with ReLU (Preite 2020, 6.1.3, figure 6.5).

    The text gives 768-1024, 1024-200 and 200-2, three Linears, and so has this head. The author's published
    code (github.com/simonepreite/QABERT) has a fourth, 200-64-2.
    """
    return FeedForwardHead(hidden_size, (1024, 200), nn.ReLU())


def four_layer_gelu_skip_head(hidden_size: int, activation: str) -> FeedForwardHead:
    """H-1024-H(+skip)-384-2 with GELU (Preite 2020, 6.1.3, figure 6.6, listings 6.4 and D.1).

    The encoder's output is added after the second layer's GELU.
    """
    gelu = nn.GELU(ACTIVATIONS[activation])
    return FeedForwardHead(hidden_size, (1024, hidden_size, 384), gelu, skip_after=2)
