"""Token types without a look-up, as in the TFLite export: a type, 0 or 1, times a row."""

from torch import Tensor, nn

from qa.models.encoders import TOKEN_TYPES, Encoder


class TypeStep(nn.Module):
    """First type's row, and the difference of the second from it."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.first = nn.Parameter(table[0])
        self.step = nn.Parameter(table[1] - table[0])

    def forward(self, token_type_ids: Tensor) -> Tensor:
        """Map (B, T) of 0 and 1 to (B, T, E)."""
        return self.first + token_type_ids[..., None].to(self.step.dtype) * self.step


def type_tables(model: nn.Module) -> dict[nn.Module, nn.Embedding]:
    """Return the tables of two token types, each with its module."""
    tables = {module: getattr(module, TOKEN_TYPES, None) for module in model.modules()}
    return {
        module: table
        for module, table in tables.items()
        if isinstance(table, nn.Embedding) and len(table.weight) == 2
    }


def multiply_types(encoder: Encoder) -> None:
    """Give an encoder of two token types a TypeStep instead of their table, in place."""
    for module, table in type_tables(encoder.model).items():
        setattr(module, TOKEN_TYPES, TypeStep(table.weight.detach()))
