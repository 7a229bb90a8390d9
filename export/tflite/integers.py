"""Does a .tflite file store the very integers that its parent was trained with?"""

import numpy as np
import torch

from compress.qat.fake_quant import trained_integers
from export.embeddings import Int8Rows, WordTable, word_tables
from qa.base.errors import ParityError
from qa.bundles.bundle import Bundle
from qa.bundles.manifest import QAT
from qa.models.model import QAModel


def check_integers(parent: Bundle, words: WordTable, file: bytes, precision: str) -> None:
    """ParityError unless the rows of all Linears and tables in the file are the parent's, where it was
    trained for `precision`.

    `words` is the word table in the form that the file stores. Rows are compared, each in ascending order:
    the converter may join matrices, heads may be sorted, and a table of one row may go into another constant.
    """
    if parent.manifest.qat != QAT(precision=precision):
        return
    linears, trained_words, others = trained_integers(QAModel.from_pretrained(parent.path), precision)
    if isinstance(words, Int8Rows) and trained_words is not None:
        n_other = int((words.integers(words.get_buffer("table")) != trained_words).any(1).sum())
        if n_other:
            raise ParityError(
                f"{parent.path} was trained for {precision}, but {n_other:,} rows of its word table became "
                "others"
            )
    in_words = [table.numpy() for table in word_tables(words) if table.dtype == torch.int8]
    needed = {row for matrix in [*(linear.numpy() for linear in linears), *in_words] for row in _rows(matrix)}
    known = needed | {row for table in others for row in _rows(table.numpy())}
    stored = {row for matrix in stored_integers(file) for row in _rows(matrix)}
    other = len(stored - known)
    missing = len(needed - stored)
    if other or missing:
        raise ParityError(
            f"{parent.path} was trained for {precision}, but of its rows of integers the file lacks "
            f"{missing:,}, and it has "
            f"{other:,} others; it was not kept"
        )


def _rows(matrix: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in np.sort(matrix, axis=1)]


def stored_integers(file: bytes) -> list[np.ndarray]:
    """The int8 values of every int8 or int4 matrix and table in a file, each buffer once."""
    from ai_edge_litert import schema_py_generated as schema

    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(file, 0))
    codes = [code.builtinCode for code in tree.operatorCodes]
    known = schema.BuiltinOperator
    places = {
        known.FULLY_CONNECTED: 1,
        known.EMBEDDING_LOOKUP: 1,
        known.SLICE: 0,
    }  # of the weights among the inputs
    types = (schema.TensorType.INT8, schema.TensorType.INT4)
    found: dict[int, np.ndarray] = {}
    for graph in tree.subgraphs:
        for operator in graph.operators:
            code = codes[operator.opcodeIndex]
            if code in places:
                weight = graph.tensors[operator.inputs[places[code]]]
                data = tree.buffers[weight.buffer].data
                if data is not None and weight.type in types and weight.buffer not in found:
                    found[weight.buffer] = unpack(
                        data.view(np.int8), weight.type == schema.TensorType.INT4, weight.shape
                    )
    return list(found.values())


def unpack(data: np.ndarray, is_int4: bool, shape: np.ndarray) -> np.ndarray:
    """Bytes as int8 values of `shape`; of int4 each holds two, the first in its low bits."""
    if is_int4:
        data = np.stack([data << 4 >> 4, data >> 4], axis=1).ravel()[: np.prod(shape)]
    return data.reshape(shape)
