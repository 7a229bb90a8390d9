"""Number of parameters of a model."""

import msgspec


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters in total, and without embedding tables (word, position and token type).

    A product-quantized table counts as the full table: it is another way to store it, like int8.
    """

    total: int
    without_embeddings: int

    def __str__(self) -> str:
        """Return both in words."""
        return f"{self.total:,} parameters ({self.without_embeddings:,} without embeddings)"
