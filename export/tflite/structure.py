"""Check that a .tflite is what its precision promises, and that old runtimes take it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from export.embeddings import WordTable, word_tables
from export.tflite.file import TFLiteFile
from qa.base.errors import ParityError, UnsupportedExport
from qa.bundles import manifest
from qa.formats.precision import PRECISIONS

# Operators that old runtimes refuse, or compute only in a version that this converter does not write.
REFUSED_OPERATORS = ("CUSTOM", "GATHER_ND")
TYPE_OF_BITS = {32: "FLOAT32", 16: "FLOAT16", 8: "INT8", 4: "INT4"}

StoredTable = tuple[tuple[int, ...], str, bool]  # shape, stored type, dequantized before use


@dataclass(frozen=True)
class Structure:
    """Operators, weights and tables of a .tflite."""

    operators: dict[str, int]
    """Number of each operator in the longest signature."""
    all_operators: frozenset[str]
    signatures: list[str]
    weight_types: Counter[tuple[str, str, bool]]
    """Number of weights by operator, type they are stored in, and whether they are dequantized before use."""
    tables: list[StoredTable]
    """Embedding tables, each once."""
    constant_bytes: Counter[str]
    """Bytes of the shared constants by type."""

    def recorded(self, fp32_layers: list[str]) -> manifest.Structure:
        """Return what the manifest records."""
        quantized_bytes = self.constant_bytes["INT8"] + self.constant_bytes["INT4"]
        return manifest.Structure(
            operators=dict(self.operators),
            quantized_share_of_bytes=round(quantized_bytes / self.constant_bytes.total(), 3),
            signatures=self.signatures,
            fp32_layers=fp32_layers,
        )


def read_structure(file: TFLiteFile) -> Structure:
    """Count operators and constants, and follow each weight back to the constant it is stored in."""
    weights = list(file.weights())
    operators = [Counter(graph.name(operator) for operator in graph.operators) for graph in file.graphs]
    largest = max(operators, key=lambda counts: counts.total())
    tables = {
        weight.buffer: (weight.shape, weight.type, weight.is_dequantized)
        for weight in weights
        if weight.operator != "FULLY_CONNECTED"
    }
    return Structure(
        operators=dict(largest),
        all_operators=frozenset(name for counts in operators for name in counts),
        signatures=file.signatures,
        weight_types=Counter((weight.operator, weight.type, weight.is_dequantized) for weight in weights),
        tables=list(tables.values()),
        constant_bytes=file.constant_bytes(),
    )


def check_structure(
    structure: Structure,
    precision: str,
    signatures: Sequence[str],
    words: WordTable,
    has_fp32_layers: bool = False,
) -> None:
    """Raise unless a file has the structure of its precision, with the embedding table `words`.

    With `has_fp32_layers` some Linears may be floats.
    Raises UnsupportedExport for operators that old runtimes refuse, ParityError for other deviations.
    """
    check_operators(structure)
    if structure.signatures != list(signatures):
        raise ParityError(f"the file has the signatures {structure.signatures}, not {list(signatures)}")
    promised = PRECISIONS[precision]
    stored = TYPE_OF_BITS[promised.bits]
    is_dequantized = not promised.quantized_activations and stored != "FLOAT32"
    matrices = {key for key in structure.weight_types if key[0] == "FULLY_CONNECTED"}
    allowed = {("FULLY_CONNECTED", stored, is_dequantized)}
    if has_fp32_layers:
        allowed.add(("FULLY_CONNECTED", "FLOAT32", False))
    wrong = matrices - allowed
    if wrong or not matrices:
        raise ParityError(
            f"not a {precision} model: {wrong or 'no weights'} (operator, stored type, dequantized before "
            "use)"
        )
    check_tables(structure, precision, words, is_dequantized)


def check_operators(structure: Structure) -> None:
    """Raise UnsupportedExport when the file has an operator that old runtimes refuse."""
    names = sorted(structure.all_operators)
    refused = [name for name in names if name in REFUSED_OPERATORS or name.startswith("STABLEHLO")]
    if refused:
        raise UnsupportedExport(
            f"the model needs the operators {', '.join(refused)}, which plain TFLite runtimes do not have"
        )


def check_tables(structure: Structure, precision: str, words: WordTable, is_dequantized: bool) -> None:
    """Raise ParityError unless the file has the tables of `words`, and others as the precision has them."""
    stored = TYPE_OF_BITS[PRECISIONS[precision].bits]
    small = TYPE_OF_BITS[PRECISIONS[precision].table_bits]
    # Bytes and their scales are stored as they are, floats of PyTorch as the precision has them.
    follows_precision = isinstance(words, nn.Embedding) or precision == "fp16"
    floats = (stored, is_dequantized) if follows_precision else ("FLOAT32", False)
    forms = {torch.int8: ("INT8", False), torch.float32: floats}
    expected = Counter((tuple(table.shape), *forms[table.dtype]) for table in word_tables(words))
    tables = Counter(structure.tables)
    # Other tables are of positions and token types, with a column of scales for positions.
    others = [table for table in tables - expected if table[0][1] > 1]
    are_small = {table[1:] for table in others} <= {(small, is_dequantized)}
    are_words = {table[0] for table in others} & {table[0] for table in expected}  # stored twice
    if expected - tables or not are_small or are_words:
        raise ParityError(
            f"not a {precision} model: its tables are {structure.tables}, wanted {list(expected)} for the "
            f"words, and no others but {small} (shape, type, dequantized before use)"
        )
