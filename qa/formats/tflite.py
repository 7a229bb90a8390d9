"""Names and sizes of an exported .tflite file.

Benchmarks copy this file to boards: it takes any Python from 3.9 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Lengths of the signatures beside the model's longest window. Of SQuAD's windows 21, 67 and 87 % fit, and a
# shorter signature is faster than a padded long one. Each takes 10 MB of memory and 30 ms to load in a small
# student; 192 saves a seventh of the time of SQuAD's windows, 160 beside it would save 4 % more.
SHORT_LENGTHS = (128, 192, 256)
_PREFIX = "qa"

# Bytes of a quantized row beside its values: an fp32 scale and an int64 zero point. The embedding table has
# the scale only, a Linear an fp32 bias besides.
ROW_BYTES = 12
SCALE_BYTES = 4
BIAS_BYTES = 4
# Bytes of the graph of each signature, and of the package: vocabulary, Unicode tables and probe.
GRAPH_BYTES = 9_000
LAYER_GRAPH_BYTES = 6_000
PACKAGE_BYTES = 32_000
TOKEN_BYTES = 3.7


@dataclass(frozen=True)
class Signature:
    """A way to call the file: one graph, and the window lengths that it takes."""

    name: str
    length: int
    """Tokens of the longest window; the only length unless `any_length`."""
    any_length: bool = False
    """True where the inputs can be resized to any length up to `length`."""

    def to_dict(self) -> dict[str, object]:
        """Return the signature as qa.json has it."""
        facts = {"name": self.name, "length": self.length}
        return {**facts, "any_length": True} if self.any_length else facts


def fixed_signatures(lengths: Sequence[int]) -> list[Signature]:
    """Return a signature for each length."""
    return [Signature(signature_name(length), length) for length in lengths]


def any_length_signature(longest: int) -> Signature:
    """Return the signature of a file that takes windows of any length up to the longest."""
    return Signature(_PREFIX, longest, any_length=True)


def signature_name(length: int) -> str:
    """Return the name of the signature that computes windows of `length` tokens."""
    return f"{_PREFIX}{length}"


def signature_length(name: str) -> int | None:
    """Return the window length of a signature; None when it takes any."""
    return int(name[len(_PREFIX) :]) if name != _PREFIX else None
