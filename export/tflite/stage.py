"""Options and steps of `python -m export.tflite`."""

import copy
import importlib.util
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from compress.qat.token_types import multiply_types
from export.android.package import append_package, describe, signature_name, vocabulary_lines
from export.calibration import calibration_windows
from export.embeddings import WordTable, bytes_saved, word_tables
from export.exporter import ExportConfig, export_bundle
from export.tflite.attention import use_grouped_attention
from export.tflite.attention_products import int8_attention
from export.tflite.attention_scales import LARGEST_ERROR, GroupScales, prepare_attention
from export.tflite.graph import TFLiteGraph, edit
from export.tflite.integers import check_integers
from export.tflite.positions import slice_positions
from export.tflite.quantize import compact, quantize, quietly
from qa.base.cli import check_option
from qa.base.errors import OptionError, ParityError, UnsupportedExport
from qa.bundles.bundle import PROBE, Bundle
from qa.formats.precision import PRECISIONS
from qa.formats.registry import KINDS
from qa.models.model import QAModel
from qa.runtime.engines import LiteRTRuntime
from qa.text.features import Window
from qa.text.settings import QASettings

# Of SQuAD's windows 21, 67 and 87 % fit, and a shorter signature is faster than a padded long one. Each takes
# 10 MB of memory and 30 ms to load in a small student; 192 saves a seventh of the time of SQuAD's windows,
# 160 beside it would save 4 % more.
SHORT_LENGTHS = (128, 192, 256)
CALIBRATION_WINDOWS = 24
NEEDED_MODULES = ("litert_torch", "ai_edge_quantizer", "ai_edge_litert")

# Operators that old runtimes refuse, or compute only in the version this converter does not write.
REFUSED_OPERATORS = ("CUSTOM", "GATHER_ND")
TYPE_OF_BITS = {32: "FLOAT32", 16: "FLOAT16", 8: "INT8", 4: "INT4"}


@dataclass(frozen=True)
class TFLiteConfig(ExportConfig):
    """Export a PyTorch bundle to TFLite, for LiteRT and for Android."""

    lengths: tuple[int, ...] | None = None
    """Window lengths, ascending; the last is the model's longest. By default 128, 192, 256 and that, where
    they fit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lengths is not None:
            ascending = (
                bool(self.lengths) and list(self.lengths) == sorted(set(self.lengths)) and self.lengths[0] > 0
            )
            check_option(
                ascending, "--lengths", self.lengths, "positive numbers in ascending order, each once"
            )


def window_lengths(config: TFLiteConfig, settings: QASettings) -> tuple[int, ...]:
    """The lengths to export; OptionError when the chosen ones do not suit the model's settings."""
    shortest = settings.max_question_length + 4  # [CLS], two [SEP] and one token of context
    if config.lengths is None:
        return (*(n for n in SHORT_LENGTHS if shortest <= n < settings.max_length), settings.max_length)
    check_option(
        config.lengths[0] >= shortest,
        "--lengths",
        config.lengths,
        f"at least {shortest}, for a long question",
    )
    longest = settings.max_length
    check_option(
        config.lengths[-1] == longest,
        "--lengths",
        config.lengths,
        f"ending in {longest}, the model's longest window",
    )
    return config.lengths


def probe_sizes(settings: QASettings, *, config: TFLiteConfig) -> list[int]:
    """The tokens of a probe window for each signature: more than the next shorter one takes, and some
    padding."""
    return [
        longer - (longer - shorter) // 4
        for shorter, longer in pairwise((0, *window_lengths(config, settings)))
    ]


class ExportModel(nn.Module):
    """A QAModel as the converter sees it: position ids are computed from an input.

    The converter would fold constant positions into one (T, H) fp32 constant for each signature. Computed
    ones keep the lookup, so that all signatures share one table, quantized like the others. Token types are 0
    or 1, so min(token type, 0) adds nothing, and the input stays in the graph of an encoder that has no token
    types.
    """

    def __init__(self, model: QAModel) -> None:
        super().__init__()
        self.encoder = model.encoder
        self.head = model.head

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> dict[str, Tensor]:
        """Shapes: (1, T) int32 -> start_logits, end_logits (1, T) float32."""
        first = self.encoder.first_position
        length = input_ids.shape[1]
        positions = torch.arange(first, first + length, dtype=torch.int32) + token_type_ids.clamp(
            max=0
        )  # (1, T)
        states, _ = self.encoder(input_ids, attention_mask, token_type_ids, position_ids=positions)
        start, end = self.head(states, attention_mask, token_type_ids).float().unbind(-1)
        return {"start_logits": start, "end_logits": end}


def convert(model: QAModel, lengths: tuple[int, ...]) -> bytes:
    """The fp32 .tflite, one signature for each length, weights shared. UnsupportedExport when TFLite cannot
    express it."""
    names = ", ".join(signature_name(length) for length in lengths)
    print(
        f"converting to TFLite: {names} (seconds; a minute for a BERT-base, and for each length of a QANet)",
        file=sys.stderr,
    )
    model = copy.deepcopy(model)
    use_grouped_attention(model.encoder)
    multiply_types(model.encoder)
    try:
        with quietly():
            import litert_torch

            converter = litert_torch
            module = ExportModel(model).eval()
            for length in lengths:
                ids = torch.zeros(1, length, dtype=torch.int32)
                sample = {
                    "input_ids": ids,
                    "attention_mask": torch.ones_like(ids),
                    "token_type_ids": ids.clone(),
                }
                converter = converter.signature(signature_name(length), module, sample_kwargs=sample)
            return converter.convert().model_content()
    except Exception as error:  # the converter, torch.export and MLIR raise all kinds
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UnsupportedExport(
            f"TFLite cannot express this model ({reason}); try python -m export.onnx"
        ) from error


StoredTable = tuple[tuple[int, ...], str, bool]  # shape, stored type, dequantized before use


@dataclass(frozen=True)
class Structure:
    """What a .tflite file is made of, read from its flatbuffer."""

    operators: dict[str, int]
    """How often each operator occurs in the longest signature."""
    all_operators: frozenset[str]
    signatures: list[str]
    weight_types: Counter[tuple[str, str, bool]]
    """(operator, type its weights are stored in, dequantized before use) of every operator with a weight or
    table."""
    tables: list[StoredTable]
    """The embedding tables, each once."""
    constant_bytes: Counter[str]
    """Bytes of the shared constants by type."""
    products: Counter[str]
    """The types of what each BATCH_MATMUL of the longest signature multiplies."""


def read_structure(model: bytes) -> Structure:
    """Parse the flatbuffer and follow each weight back to the constant it is stored in."""
    from ai_edge_litert import schema_py_generated as schema

    def names_of(enum: type) -> dict[int, str]:
        return {value: name for name, value in vars(enum).items() if not name.startswith("_")}

    operator_names = names_of(schema.BuiltinOperator)
    type_names = names_of(schema.TensorType)
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    codes = [operator_names[max(code.builtinCode, code.deprecatedBuiltinCode)] for code in tree.operatorCodes]
    sizes = [len(buffer.data) if buffer.data is not None else 0 for buffer in tree.buffers]
    weight_types: Counter[tuple[str, str, bool]] = Counter()
    constants: dict[int, str] = {}
    tables: dict[int, StoredTable] = {}
    counts: list[tuple[Counter[str], Counter[str]]] = []
    for graph in tree.subgraphs:
        constants |= {
            tensor.buffer: type_names[tensor.type] for tensor in graph.tensors if sizes[tensor.buffer]
        }
        operators = [(codes[operator.opcodeIndex], operator) for operator in graph.operators]
        multiplied = [
            graph.tensors[operator.inputs[0]].type for name, operator in operators if name == "BATCH_MATMUL"
        ]
        counts.append(
            (Counter(name for name, _ in operators), Counter(type_names[kind] for kind in multiplied))
        )
        source = {
            operator.outputs[0]: operator.inputs[0] for name, operator in operators if name == "DEQUANTIZE"
        }
        for name, operator in operators:
            if name in ("FULLY_CONNECTED", "EMBEDDING_LOOKUP", "GATHER", "SLICE"):
                weight = operator.inputs[0 if name in ("GATHER", "SLICE") else 1]
                stored = graph.tensors[source.get(weight, weight)]
                if sizes[
                    stored.buffer
                ]:  # attention with one head multiplies two activations in a FULLY_CONNECTED
                    weight_types[name, type_names[stored.type], weight in source] += 1
                    if name != "FULLY_CONNECTED":
                        tables[stored.buffer] = (
                            tuple(map(int, stored.shape)),
                            type_names[stored.type],
                            weight in source,
                        )
    constant_bytes: Counter[str] = Counter()
    for buffer, type_name in constants.items():
        constant_bytes[type_name] += sizes[buffer]
    signatures = [definition.signatureKey.decode() for definition in tree.signatureDefs]
    largest, products = max(counts, key=lambda count: count[0].total())
    names = frozenset(name for count, _ in counts for name in count)
    return Structure(
        dict(largest), names, signatures, weight_types, list(tables.values()), constant_bytes, products
    )


def check_structure(
    structure: Structure,
    fp32_bytes: int,
    precision: str,
    lengths: tuple[int, ...],
    words: WordTable,
    n_products: int = 0,
) -> None:
    """Is the file what its precision promises, with the word table `words`, and will old runtimes take it?

    `fp32_bytes` are those of all its constants in fp32; `n_products` of activations are to be in int8. Raises
    UnsupportedExport for operators that old runtimes refuse, ParityError for anything that is not as it
    should be.
    """
    refused = [
        name
        for name in sorted(structure.all_operators)
        if name in REFUSED_OPERATORS or name.startswith("STABLEHLO")
    ]
    if refused:
        raise UnsupportedExport(
            f"the model needs the operators {', '.join(refused)}, which plain TFLite runtimes do not have"
        )
    names = [signature_name(length) for length in lengths]
    if structure.signatures != names:
        raise ParityError(f"the file has the signatures {structure.signatures}, wanted {names}")
    wanted_form = PRECISIONS[precision]
    stored = TYPE_OF_BITS[wanted_form.bits]
    small = TYPE_OF_BITS[wanted_form.table_bits]
    dequantized = (
        not wanted_form.quantized_activations and stored != "FLOAT32"
    )  # stored in one type, computed in another
    matrices = {key for key in structure.weight_types if key[0] == "FULLY_CONNECTED"}
    wrong = matrices - {("FULLY_CONNECTED", stored, dequantized)}
    if wrong or not matrices:
        raise ParityError(
            f"not a {precision} model: {wrong or 'no weights'} (operator, stored type, dequantized before "
            "use)"
        )
    if structure.products["INT8"] != n_products:
        seen = structure.products["INT8"]
        raise ParityError(
            f"not a {precision} model: {seen} products of activations are int8, wanted {n_products}"
        )
    # Bytes and their scales are stored as they are, floats of PyTorch as the precision has them.
    floats = (
        (stored, dequantized)
        if isinstance(words, nn.Embedding) or precision == "fp16"
        else ("FLOAT32", False)
    )
    kinds = {torch.int8: ("INT8", False), torch.float32: floats}
    wanted = Counter((tuple(table.shape), *kinds[table.dtype]) for table in word_tables(words))
    missing = wanted - Counter(structure.tables)
    others = {table[1:] for table in Counter(structure.tables) - wanted}
    if missing or others - {(small, dequantized)}:
        raise ParityError(
            f"not a {precision} model: its tables are {structure.tables}, wanted {list(wanted)} for the "
            "words, and no others but "
            f"{small} (shape, type, dequantized before use)"
        )
    share = structure.constant_bytes.total() / fp32_bytes
    largest = wanted_form.largest_share["tflite"]
    if share > largest:
        raise ParityError(
            f"not a {precision} model: its constants take {share:.0%} of fp32's bytes, at most {largest:.0%}"
        )


def in_int8(graph: TFLiteGraph, scales: Sequence[GroupScales | None]) -> None:
    """Rewrite what ai-edge-quantizer leaves float or slow in one signature: positions, and attention where it
    has scales."""
    slice_positions(graph)
    int8_attention(graph, scales)


@dataclass(frozen=True)
class Converted:
    """A .tflite without its package."""

    content: bytes
    fp32_bytes: int
    """Of all its constants before they were quantized."""
    n_products: int
    """Of activations in int8."""


def convert_to(
    model: QAModel,
    precision: str,
    lengths: tuple[int, ...],
    windows: Sequence[Window],
    largest_error: float = LARGEST_ERROR,
) -> Converted:
    """The .tflite in any precision; in int8 and int4 attention is in int8 as far as it does not err more on
    `windows`."""
    model = copy.deepcopy(model)
    scales = list[GroupScales | None]()
    if PRECISIONS[precision].quantized_activations:
        print("measuring attention on training windows (seconds; a minute for a BERT-base)", file=sys.stderr)
        scales = prepare_attention(model, windows, largest_error)
    fp32 = convert(model, lengths)
    quantized = fp32 if precision == "fp32" else quantize(fp32, precision)
    content = compact(edit(quantized, partial(in_int8, scales=scales)))
    return Converted(
        content, read_structure(fp32).constant_bytes.total(), 2 * sum(of is not None for of in scales)
    )


def write_file(
    model: QAModel, parent: Bundle, draft: Path, precision: str, *, config: TFLiteConfig
) -> dict[str, Any]:
    """Write the bare model.tflite into the draft; what the manifest should say of its structure."""
    model.encoder.check_tflite()
    lengths = window_lengths(config, parent.settings)
    vocabulary_lines(parent), describe(parent, precision, lengths)  # they may refuse, so before converting
    windows = (
        calibration_windows(parent, CALIBRATION_WINDOWS)
        if PRECISIONS[precision].quantized_activations
        else []
    )
    made = convert_to(model, precision, lengths, windows)
    words = model.encoder.words
    structure = read_structure(made.content)
    check_structure(
        structure, made.fp32_bytes + bytes_saved(words), precision, lengths, words, made.n_products
    )
    check_integers(parent, words, made.content, precision)
    quantized_bytes = structure.constant_bytes["INT8"] + structure.constant_bytes["INT4"]
    (draft / KINDS["tflite"].weights).write_bytes(made.content)
    return {
        "operators": structure.operators,
        "products_of_activations": dict(structure.products),
        "quantized_share_of_bytes": round(quantized_bytes / structure.constant_bytes.total(), 3),
        "signatures": structure.signatures,
    }


def package(parent: Bundle, draft: Path, settings: QASettings, *, config: TFLiteConfig) -> None:
    """Append to model.tflite all that a phone needs beside it."""
    info = describe(replace(parent, settings=settings), config.precision, window_lengths(config, settings))
    probe = (draft / PROBE).read_text(encoding="utf-8")
    append_package(draft / KINDS["tflite"].weights, info, vocabulary_lines(parent), probe)


def check_converter() -> None:
    """OptionError when what converts is not installed."""
    missing = [name for name in NEEDED_MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise OptionError(
            f"TFLite export needs {missing[0]}, which is not installed: pip install 'pocketqa[export]'"
        )


def main(config: TFLiteConfig) -> Bundle:
    """Convert, quantize, check against PyTorch, package, seal."""
    check_converter()
    return export_bundle(
        config,
        "tflite",
        partial(write_file, config=config),
        partial(probe_sizes, config=config),
        partial(package, config=config),
        lambda model, threads: [LiteRTRuntime(model.weights, threads, xnnpack=False)],
    )
