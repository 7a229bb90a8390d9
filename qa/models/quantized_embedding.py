"""Embedding table in a third or a quarter of its int8 bytes: product quantization (Jégou et al. 2011).

A word vector is cut into groups of a few values. Each group has a codebook of 256 entries. A token is stored
as the number of one entry per group, a byte each. Codes are found once (compress.embeddings) and stay fixed;
the codebooks are parameters and train.

Letters: B batch, T tokens, V tokens of the vocabulary, D width of a word vector, W values of a group, G =
ceil(D / W) groups.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from qa.formats.precision import GROUP_SIZES

CODEBOOK_SIZE = 256
FIRST_CODE = -128  # codes are int8, which converters store as it is


class ProductQuantizedEmbedding(nn.Module):
    """Stand-in for nn.Embedding (V, D): codes (V, G) int8, codebooks (G, 256, W)."""

    offsets: Tensor

    def __init__(self, num_embeddings: int, embedding_dim: int, form: str) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.form = form
        width = GROUP_SIZES[form]
        n_groups = -(-embedding_dim // width)
        self.register_buffer("codes", torch.zeros(num_embeddings, n_groups, dtype=torch.int8))
        self.codebooks = nn.Parameter(torch.zeros(n_groups, CODEBOOK_SIZE, width))
        offsets = torch.arange(n_groups, dtype=torch.int32) * CODEBOOK_SIZE - FIRST_CODE
        self.register_buffer("offsets", offsets, persistent=False)

    def entries(self, input_ids: Tensor) -> Tensor:
        """Return the rows of the stacked codebooks that make up the words: (B, T) -> (B, T, G) int32."""
        return functional.embedding(input_ids, self.get_buffer("codes")).int() + self.offsets

    def forward(self, input_ids: Tensor) -> Tensor:
        """Map (B, T) to (B, T, D)."""
        groups = functional.embedding(self.entries(input_ids), self.codebooks.flatten(0, 1))  # (B, T, G, W)
        return groups.flatten(-2)[..., : self.embedding_dim]

    @property
    def weight(self) -> Tensor:
        """Full table, (V, D)."""
        return self(torch.arange(self.num_embeddings, device=self.codebooks.device))
