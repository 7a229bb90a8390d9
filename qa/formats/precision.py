"""Precisions of exports, and forms of a quantized embedding table.

Inputs are integers and logits are float32 in every precision. `export.onnx.quantize` and
`export.tflite.quantize` store weights in a precision.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Precision:
    """Storage of weights, arithmetic, and limits of an export."""

    name: str
    """Name in manifests and results, and value of --quantize."""
    bits: int
    """Bits of a weight of a Linear; below 16 an integer with a scale for each output channel."""
    table_bits: int
    """Bits of the position and token type tables, and of the embedding table unless it has its own form."""
    quantized_activations: bool = False
    """True when activations are quantized at run time and products are of integers."""
    in_words: str
    """Description in model cards."""
    formats: tuple[str, ...]
    """Formats of the bundles that have it."""
    probe_tolerance: float
    """Largest root-mean-square difference from the logits of PyTorch, in their standard deviations within a
    window."""
    equal_spans: Mapping[str, float]
    """Smallest share of real windows with the same best span, by format; --min-equal-spans sets another."""
    mark: str
    """Marker in plots, in matplotlib's notation."""


# Tolerances: a trained model differed by 2e-6 in fp32, 5e-4 (LiteRT) and 1.5e-3 (ONNX Runtime) in fp16, and
# 0.04 in int8-weights. In int8 it differed by 0.05 (LiteRT with XNNPACK), 0.17 (without) and 0.12 (ONNX
# Runtime), in int4 by 0.46 (LiteRT 1.4 and 2.3, with and without XNNPACK). Wrong runtimes differed by 1.4 and
# more, as unrelated logits do. Spans: all stay equal in fp32; near ties may change in fp16. int8 changed up
# to one span in twenty of a well-trained model in LiteRT, one in ten in ONNX Runtime, which rounds
# activations by tensor, and one in nine of the demo, which has more near ties. int4 changed one in five of
# the first and half of an untrained model. A wrong runtime keeps almost none.
ENTRIES = (
    Precision(
        name="fp32",
        bits=32,
        table_bits=32,
        in_words="weights and arithmetic in 32 bits",
        formats=("pytorch", "onnx", "tflite"),
        probe_tolerance=1e-4,
        equal_spans={"onnx": 0.999, "tflite": 0.999},
        mark="o",
    ),
    Precision(
        name="fp16",
        bits=16,
        table_bits=16,
        in_words="weights in 16 bits",
        # PyTorch and TFLite turn the weights to float32 when the model is opened. ONNX Runtime computes in
        # float16 where the CPU has kernels, else it casts to float32.
        formats=("pytorch", "onnx", "tflite"),
        probe_tolerance=1e-2,
        equal_spans={"onnx": 0.95, "tflite": 0.95},
        mark="s",
    ),
    Precision(
        name="int8",
        bits=8,
        table_bits=8,
        quantized_activations=True,
        in_words="weights in 8 bits, activations quantized as it runs",
        # Weights have a scale for each output channel, embeddings for each row, activations for each tensor
        # in ONNX and for each token in TFLite. Products of attention stay in float32. An LSTM becomes ONNX
        # Runtime's DynamicQuantizeLSTM: the same for its two matrices, its input and its state.
        formats=("onnx", "tflite"),
        probe_tolerance=0.25,
        equal_spans={"onnx": 0.80, "tflite": 0.90},
        mark="^",
    ),
    Precision(
        name="int8-weights",
        bits=8,
        table_bits=8,
        in_words="weights stored in 8 bits, arithmetic in 32",
        # PyTorch turns the weights to float32 when the model is opened, TFLite as it runs. ONNX Runtime
        # 1.31 turns these products into its own operator for int8 weights and float activations.
        formats=("pytorch", "onnx", "tflite"),
        probe_tolerance=0.15,
        equal_spans={"onnx": 0.90, "tflite": 0.90},
        mark="D",
    ),
    Precision(
        name="int4",
        bits=4,
        table_bits=8,
        quantized_activations=True,
        in_words="weights in 4 bits, positions in 8, activations quantized as it runs",
        # Linears and word embeddings are clipped for the least squared error; attention stays in float32.
        # Not in blocks: LiteRT 1.4 computes those wrongly. Not in ONNX: ONNX Runtime's int4 product takes
        # twice as long as its int8.
        formats=("tflite",),
        probe_tolerance=0.8,
        equal_spans={"tflite": 0.80},
        mark="v",
    ),
)
PRECISIONS = {precision.name: precision for precision in ENTRIES}
# Bits of precisions with integer products; in the others only weights are rounded.
INTEGER_BITS = {precision.name: precision.bits for precision in ENTRIES if precision.quantized_activations}

# Forms of a quantized embedding table: bits of a value in quantized rows, or values per byte of product
# quantization.
ROW_BITS = {"int8": 8, "int4": 4}
GROUP_SIZES = {"pq3": 3, "pq4": 4}
TABLE_FORMS = (*ROW_BITS, *GROUP_SIZES)
