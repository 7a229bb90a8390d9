"""Names and sizes of an exported .tflite file.

Benchmarks copy this file to boards: it takes any Python from 3.9 on.
"""

from __future__ import annotations

# Lengths of the signatures beside the model's longest window. Of SQuAD's windows 21, 67 and 87 % fit, and a
# shorter signature is faster than a padded long one. Each takes 10 MB of memory and 30 ms to load in a small
# student; 192 saves a seventh of the time of SQuAD's windows, 160 beside it would save 4 % more.
SHORT_LENGTHS = (128, 192, 256)
ANY_LENGTH = "qa"  # name of the signature that takes any length, and beginning of the others

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


def signature_name(length: int) -> str:
    """Return the name of the signature that computes windows of `length` tokens."""
    return f"{ANY_LENGTH}{length}"


def signature_length(name: str) -> int | None:
    """Return the window length of a signature; None when it takes any."""
    return int(name[len(ANY_LENGTH) :]) if name != ANY_LENGTH else None
