"""Cost of a model by its heads and neurons: megabytes of its exported file, or milliseconds of a window.

Both are sums of a cost for each attention head, for each feed-forward neuron and for the rest. In bytes a
head is two neurons for each of its dimensions. In time it is several times that, for its products with other
tokens.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from qa.base.errors import OptionError
from qa.formats.precision import GROUP_SIZES, INTEGER_BITS, ROW_BITS
from qa.formats.tflite import (
    BIAS_BYTES,
    GRAPH_BYTES,
    LAYER_GRAPH_BYTES,
    PACKAGE_BYTES,
    ROW_BYTES,
    SCALE_BYTES,
    TOKEN_BYTES,
)
from qa.models.model import QAModel
from qa.models.quantized_embedding import CODEBOOK_SIZE

# What a table of times says of each length: ms of a model without layers, of a layer without heads and
# neurons, of one of these.
PARTS = ("rest", "layer", "head", "neuron")
INFINITY = float("inf")


@dataclass(frozen=True)
class UnitCosts:
    """Costs in MB or in ms: `rest` for the model, `head` and `neuron` for each of those in all layers."""

    rest: float
    head: float
    neuron: float

    def of(self, model: QAModel) -> float:
        """Return the cost of the model as it is now."""
        parts = model.encoder.layer_parts()
        return (
            self.rest
            + self.head * sum(p.n_heads for p in parts)
            + self.neuron * sum(p.n_neurons for p in parts)
        )


def linear_bytes(n_in: int, n_out: int, bits: int) -> float:
    """Return the bytes of a quantized Linear: weights, scales and bias."""
    return n_out * (n_in * bits / 8 + ROW_BYTES + BIAS_BYTES)


def words_bytes(rows: int, width: int, form: str) -> float:
    """Return the bytes of an embedding table in one of TABLE_FORMS."""
    if form in ROW_BITS:
        return rows * (width * ROW_BITS[form] / 8 + SCALE_BYTES)
    groups = -(-width // GROUP_SIZES[form])
    # Codes, int8 codebooks, a scale for each place.
    return rows * groups + CODEBOOK_SIZE * groups * GROUP_SIZES[form] + 4 * width


def file_bytes(model: QAModel, quantize: str, embeddings: str) -> float:
    """Return the bytes of the packaged file of export.tflite.

    `quantize` is the precision of Linears, int8 or int4; `embeddings` is one of TABLE_FORMS.
    """
    linears = [m for m in model.modules() if isinstance(m, nn.Linear)]
    words = model.encoder.words
    others = [m for m in model.modules() if isinstance(m, nn.Embedding) and m is not words]
    in_rows = sum(p.numel() for m in (*linears, words, *others) for p in m.parameters())
    total = sum(linear_bytes(m.in_features, m.out_features, INTEGER_BITS[quantize]) for m in linears)
    total += words_bytes(words.num_embeddings, words.embedding_dim, embeddings)
    total += sum(m.num_embeddings * (m.embedding_dim + ROW_BYTES) for m in others)
    total += 4 * (sum(p.numel() for p in model.parameters()) - in_rows)  # LayerNorms stay fp32
    total += GRAPH_BYTES + LAYER_GRAPH_BYTES * len(model.encoder.layers)
    return total + PACKAGE_BYTES + TOKEN_BYTES * words.num_embeddings


def file_costs(model: QAModel, quantize: str, embeddings: str) -> UnitCosts:
    """Return costs in MB of the packaged file; `quantize` and `embeddings` as in `file_bytes`."""
    bits = INTEGER_BITS[quantize]
    parts = model.encoder.layer_parts()[0]
    width = parts.query.in_features
    head = (3 * linear_bytes(width, parts.head_size, bits) + parts.head_size * width * bits / 8) / 1e6
    neuron = (linear_bytes(width, 1, bits) + width * bits / 8) / 1e6
    rest = file_bytes(model, quantize, embeddings) / 1e6 - UnitCosts(0, head, neuron).of(model)
    return UnitCosts(rest, head, neuron)


def time_costs(model: QAModel, times: Path, max_length: int) -> UnitCosts:
    """Return costs in ms of the longest window, by a table of export.tflite.times.

    The window is padded to the shortest measured length that holds `max_length` tokens. The QA head's Linears
    cost as much as neurons with as many weights. OptionError for a table of another width, or one too short.
    """
    table = read_times(times)
    width = model.encoder.hidden_size
    head_size = model.encoder.layer_parts()[0].head_size
    measured = table["hidden_size"], table["head_size"]
    if measured != (width, head_size):
        raise OptionError(
            f"--times {times}: measured on models {measured[0]} wide with heads of {measured[1]}, this one "
            f"is {width} wide with heads of {head_size}; measure its like: python -m export.tflite.times "
            "--model BUNDLE --out FILE"
        )
    lengths = sorted(int(length) for length in table["ms"] if int(length) >= max_length)
    if not lengths:
        raise OptionError(
            f"--times {times}: no length of at least {max_length}; measure one: python -m export.tflite.times"
        )
    ms = table["ms"][str(lengths[0])]
    n_layers = len(model.encoder.layers)
    repeats = n_layers / len(model.encoder.layer_parts())  # a shared layer runs again and again
    head_weights = sum(m.weight.numel() for m in model.head.modules() if isinstance(m, nn.Linear))
    rest = ms["rest"] + n_layers * ms["layer"] + head_weights / (2 * width) * ms["neuron"]
    return UnitCosts(rest, repeats * ms["head"], repeats * ms["neuron"])


def read_times(path: Path) -> dict[str, Any]:
    """Read a table of measured times: hidden_size, head_size, and "ms" by length with its PARTS.

    Times of a head and of a neuron must be positive. The other parts come from a fit and may be a little
    below 0.
    """
    try:
        table = json.loads(path.read_bytes())
        sizes = [table["hidden_size"], table["head_size"]]
        by_length = [table["ms"][str(int(length))] for length in table["ms"]]
        units = [ms[part] for ms in by_length for part in ("head", "neuron")]
        others = [ms[part] for ms in by_length for part in ("rest", "layer")]
        whole = all(type(size) is int for size in sizes)
        positive = all(0 < ms < INFINITY for ms in units)
        if not (whole and positive and np.isfinite(others).all()):
            raise ValueError("a size that is no whole number, or a time that is none")
    except OSError as error:
        raise OptionError(f"--times {path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OptionError(
            f"--times {path}: not a table that python -m export.tflite.times makes ({error!r})"
        ) from None
    return table
