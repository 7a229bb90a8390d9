"""Embedding tables as an exported file stores them: modules of look-ups and arithmetic that every converter
writes.

A quantizer of files would store twelve bytes of scale and zero point for each row in TFLite, and has no form
for codes, nor for int4 in ONNX. Here the look-ups are of bytes, and their results are scaled afterwards.

Letters: B batch, T tokens, V tokens of the vocabulary, D width of a word vector, G groups and W values of a
group.
"""

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from compress.product_quantization import product_quantized
from compress.scales import least_squares_bounds
from qa.base.errors import OptionError
from qa.formats.precision import INTEGER_BITS, ROW_BITS
from qa.models.model import QAModel
from qa.models.quantized_embedding import ProductQuantizedEmbedding


class IntegerRows(nn.Module):
    """Rows of integers, each with its own scale: int8 (V, D), or two int4 values in each byte of (V, D / 2).

    Rows of int4 are clipped for the least squared error. One value of a byte is of a row's first half, the
    other of its second: 16 high + low, both -7 to 7.
    """

    def __init__(self, table: np.ndarray, bits: int) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = table.shape
        self.bits = bits
        steps = 2 ** (bits - 1) - 1
        largest = np.abs(table).max(axis=1, keepdims=True)
        scales = row_scales(largest if bits == 8 else least_squares_bounds(table, bits), steps)
        values = np.clip(np.round(table / scales), -steps, steps).astype(np.int8)
        if bits == 4:
            high, low = np.split(values, 2, axis=1)
            values = 16 * high + low
        self.register_buffer("table", torch.from_numpy(values))
        self.register_buffer("scales", torch.from_numpy(scales))  # (V, 1)

    def integers(self, rows: Tensor) -> Tensor:
        """Return the integers (..., D) of looked-up rows, as floats."""
        both = rows.float()
        if self.bits == 8:
            return both
        high = torch.floor(both * (1 / 16) + 0.5)
        return torch.cat([high, both - 16 * high], dim=-1)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Look up words. Shapes: (B, T) -> (B, T, D)."""
        rows = functional.embedding(input_ids, self.get_buffer("table"))
        scales = functional.embedding(input_ids, self.get_buffer("scales"))
        return self.integers(rows) * scales


class Int8Codebooks(nn.Module):
    """Product-quantized table whose codebooks are int8 too, (256 G, W).

    Each place of a word vector has a scale.
    """

    def __init__(self, words: ProductQuantizedEmbedding) -> None:
        super().__init__()
        self.words = words
        self.num_embeddings = words.num_embeddings
        self.embedding_dim = words.embedding_dim
        codebooks = words.codebooks.detach()
        scales = row_scales(codebooks.abs().amax(dim=1, keepdim=True).numpy(), 127)  # (G, 1, W)
        integers = np.round(codebooks.numpy() / scales).astype(np.int8)
        self.register_buffer("codebooks", torch.from_numpy(integers).flatten(0, 1))
        self.register_buffer("scales", torch.from_numpy(scales.reshape(-1)[: words.embedding_dim]))  # (D,)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Look up words. Shapes: (B, T) -> (B, T, D)."""
        entries = self.words.entries(input_ids)
        groups = functional.embedding(entries, self.get_buffer("codebooks"))  # (B, T, G, W)
        return groups.flatten(-2)[..., : self.words.embedding_dim].float() * self.get_buffer("scales")


def row_scales(bounds: np.ndarray, steps: int) -> np.ndarray:
    """Return the value of one step for bounds of any shape; 1 where there are only zeros."""
    return np.where(bounds > 0, bounds / np.float32(steps), 1).astype(np.float32)


WordTable = nn.Embedding | ProductQuantizedEmbedding | IntegerRows | Int8Codebooks


def word_tables(words: WordTable) -> list[Tensor]:
    """Return the matrices of an embedding table, each with a row for each token or entry."""
    if isinstance(words, nn.Embedding):
        return [words.weight]
    if isinstance(words, ProductQuantizedEmbedding):
        return [words.get_buffer("codes"), words.codebooks.flatten(0, 1)]
    if isinstance(words, Int8Codebooks):
        return [words.words.get_buffer("codes"), words.get_buffer("codebooks")]
    return [words.get_buffer("table"), words.get_buffer("scales")]


def stored_words(
    model: QAModel, precision: str, form: str | None, counts: Callable[[], np.ndarray]
) -> tuple[WordTable, str | None]:
    """Return the embedding table as a file of this precision stores it, and its form.

    The form is None where the table is stored like other weights. `counts` gives how often each token occurs
    in text that the model is for, for product quantization. OptionError when the model's table has another
    form already.
    """
    words = model.encoder.words
    if precision in INTEGER_BITS and isinstance(words, nn.Embedding):
        form = form or f"int{INTEGER_BITS[precision]}"
        if form == "int4" and words.embedding_dim % 2:
            raise OptionError(
                f"--embeddings int4: word vectors of {words.embedding_dim} values have no halves; use int8"
            )
        if form in ROW_BITS:
            return IntegerRows(words.weight.detach().numpy(), ROW_BITS[form]), form
        words = product_quantized(words, form, counts())
    if not isinstance(words, ProductQuantizedEmbedding):
        return words, None
    if form not in (None, words.form):
        smaller = ", or make pq4 of it with python -m compress.embeddings" if form == "pq4" else ""
        raise OptionError(
            f"--embeddings {form}: the model's embedding table is {words.form} already; leave --embeddings "
            f"out{smaller}"
        )
    return Int8Codebooks(words) if precision.startswith("int") else words, words.form


def with_words(model: QAModel, words: WordTable) -> QAModel:
    """Return a copy of the model with another embedding table; both share all other weights."""
    tensors = [*model.parameters(), *model.buffers()]
    copied = copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
    copied.encoder.set_words(words)
    return copied
