"""Token types without a look-up, as the TFLite export writes them: two types are a number, 0 or 1, times a row."""

from torch import Tensor, nn

from qa.models.encoders import Encoder

TYPES = "token_type_embeddings"  # as every encoder of transformers has them that has types


class TypeStep(nn.Module):
    """The first type's row, and what the second has beyond it."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.first, self.step = nn.Parameter(table[0]), nn.Parameter(table[1] - table[0])

    def forward(self, token_type_ids: Tensor) -> Tensor:
        """(B, T) of 0 and 1 -> (B, T, E)."""
        return self.first + token_type_ids[..., None].to(self.step.dtype) * self.step


def multiply_types(encoder: Encoder) -> None:
    """Give an encoder of two token types a TypeStep instead of their table, in place."""
    for module in encoder.model.modules():
        types = getattr(module, TYPES, None)
        if isinstance(types, nn.Embedding) and len(types.weight) == 2:
            setattr(module, TYPES, TypeStep(types.weight.detach()))
