"""Token types without a look-up, as the TFLite export writes them: two types are a number, 0 or 1, times a row."""

import torch
from torch import Tensor, nn

from qa.models.encoders import Encoder

TYPES, POSITIONS = "token_type_embeddings", "position_embeddings"  # as every encoder of transformers has them that has types


class TypeStep(nn.Module):
    """What the second type has beyond the first."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.step = nn.Parameter(table[1] - table[0])

    def forward(self, token_type_ids: Tensor) -> Tensor:
        """(B, T) of 0 and 1 -> (B, T, E)."""
        return token_type_ids[..., None].to(self.step.dtype) * self.step


def multiply_types(encoder: Encoder) -> None:
    """Give an encoder of two token types a TypeStep instead of their table, in place; the first type goes into the positions."""
    for module in encoder.model.modules():
        types, positions = (getattr(module, name, None) for name in (TYPES, POSITIONS))
        if isinstance(types, nn.Embedding) and isinstance(positions, nn.Embedding) and len(types.weight) == 2:
            with torch.no_grad():
                positions.weight += types.weight[0]
            setattr(module, TYPES, TypeStep(types.weight.detach()))
