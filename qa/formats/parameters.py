"""Number of parameters of a model."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Parameters in total, and without embedding tables (word, position and token type).

    A product-quantized table counts as the full table: it is another way to store it, like int8. This is no
    msgspec.Struct: the environments of toolchains open models without msgspec.
    """

    total: int
    without_embeddings: int

    def __str__(self) -> str:
        """Return both in words."""
        return f"{self.total:,} parameters ({self.without_embeddings:,} without embeddings)"
