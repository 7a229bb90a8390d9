"""Size of a model's exported file: a sum over its attention heads, its feed-forward neurons and the rest.

A head takes as many bytes as two neurons for each of its dimensions.
"""

from dataclasses import dataclass

from torch import nn

from qa.formats.precision import GROUP_SIZES, INTEGER_BITS, ROW_BITS
from qa.formats.tflite import (
    BIAS_BYTES,
    GRAPH_BYTES,
    LAYER_GRAPH_BYTES,
    PACKAGE_BYTES,
    ROW_BYTES,
    SCALE_BYTES,
    SHORT_LENGTHS,
    TOKEN_BYTES,
)
from qa.models.model import QAModel
from qa.models.quantized_embedding import CODEBOOK_SIZE


@dataclass(frozen=True)
class UnitCosts:
    """Costs in MB: `rest` for the model, `head` and `neuron` for each of those in all layers."""

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


def file_bytes(model: QAModel, quantize: str, embeddings: str, max_length: int) -> float:
    """Return the bytes of the packaged file of export.tflite.

    `quantize` is the precision of Linears, int8 or int4; `embeddings` is one of TABLE_FORMS; `max_length` is
    that of the longest window, in tokens.
    """
    linears = [m for m in model.modules() if isinstance(m, nn.Linear)]
    words = model.encoder.words
    others = [m for m in model.modules() if isinstance(m, nn.Embedding) and m is not words]
    in_rows = sum(p.numel() for m in (*linears, words, *others) for p in m.parameters())
    total = sum(linear_bytes(m.in_features, m.out_features, INTEGER_BITS[quantize]) for m in linears)
    # Of a layer that is applied several times, the file has query, key and value twice: in the first step
    # there is no LayerNorm before them, whose factors the others take in.
    for parts in model.encoder.layer_parts() if model.encoder.shares_layers else ():
        for m in (parts.query, parts.key, parts.value):
            total += linear_bytes(m.in_features, m.out_features, INTEGER_BITS[quantize])
    total += words_bytes(words.num_embeddings, words.embedding_dim, embeddings)
    total += sum(m.num_embeddings * (m.embedding_dim + ROW_BYTES) for m in others)
    total += 4 * (sum(p.numel() for p in model.parameters()) - in_rows)  # LayerNorms stay fp32
    is_fixed = any(getattr(module, "fixed_lengths", False) for module in model.modules())
    lengths = (*(n for n in SHORT_LENGTHS if n < max_length), max_length)
    total += (len(lengths) if is_fixed else 1) * (GRAPH_BYTES + LAYER_GRAPH_BYTES * len(model.encoder.layers))
    total += getattr(model.encoder.model, "pair_bytes", 0) * sum(n * n for n in lengths)
    return total + PACKAGE_BYTES + TOKEN_BYTES * words.num_embeddings


def file_costs(model: QAModel, quantize: str, embeddings: str, max_length: int) -> UnitCosts:
    """Return costs in MB of the packaged file; all but the model as in `file_bytes`."""
    bits = INTEGER_BITS[quantize]
    parts = model.encoder.layer_parts()[0]
    width = parts.query.in_features
    copies = 2 if model.encoder.shares_layers else 1
    head = (
        copies * 3 * linear_bytes(width, parts.head_size, bits) + parts.head_size * width * bits / 8
    ) / 1e6
    neuron = (linear_bytes(width, 1, bits) + width * bits / 8) / 1e6
    rest = file_bytes(model, quantize, embeddings, max_length) / 1e6 - UnitCosts(0, head, neuron).of(model)
    return UnitCosts(rest, head, neuron)
