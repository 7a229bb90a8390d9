"""Check that a .tflite stores the integers that its parent was trained with."""

import numpy as np
import torch

from compress.qat.fake_quant import trained_integers
from export.embeddings import IntegerRows, WordTable, word_tables
from export.tflite.file import TFLiteFile
from qa.base.errors import ParityError
from qa.bundles.bundle import Bundle
from qa.bundles.manifest import QAT
from qa.formats.precision import PRECISIONS
from qa.models.model import QAModel


def check_integers(
    parent: Bundle, words: WordTable, file: TFLiteFile, precision: str, has_fp32_layers: bool = False
) -> None:
    """Raise ParityError unless the file's rows are the parent's, where it was trained for `precision`.

    `words` is the embedding table in the form that the file stores. With `has_fp32_layers` the file may lack
    rows. Each row is compared in ascending order: the converter may join matrices, heads may be sorted, and a
    table of one row may go into another constant.
    """
    if parent.manifest.qat != QAT(precision=precision):
        return
    linears, trained_words, other_tables = trained_integers(QAModel.from_pretrained(parent.path), precision)
    rows = words if isinstance(words, IntegerRows) and words.bits == PRECISIONS[precision].bits else None
    if rows is not None and trained_words is not None:  # else --embeddings gave them another form
        n_changed = int((rows.integers(rows.get_buffer("table")) != trained_words).any(1).sum())
        if n_changed:
            raise ParityError(
                f"{parent.path} was trained for {precision}, but {n_changed:,} rows of its embedding table "
                "became others"
            )
    in_words = [table for table in word_tables(words) if table.dtype == torch.int8]
    needed = {row for matrix in (*linears, *in_words) for row in _rows(matrix.numpy())}
    allowed = needed | {row for table in other_tables for row in _rows(table.numpy())}
    stored = {row for matrix in stored_integers(file) for row in _rows(matrix)}
    n_unknown = len(stored - allowed)
    n_missing = 0 if has_fp32_layers else len(needed - stored)
    if n_unknown or n_missing:
        raise ParityError(
            f"{parent.path} was trained for {precision}, but of its rows of integers the file lacks "
            f"{n_missing:,}, and it has {n_unknown:,} others; it was not kept"
        )


def _rows(matrix: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in np.sort(matrix, axis=1)]


def stored_integers(file: TFLiteFile) -> list[np.ndarray]:
    """Return the int8 values of every int8 or int4 matrix and table in a file, each constant once."""
    stored = {weight.buffer: weight for weight in file.weights() if weight.type in ("INT8", "INT4")}
    return [weight.values for weight in stored.values()]
