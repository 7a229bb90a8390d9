"""Precisions: one entry for each, with all that a name in flags, files, rows and Java stands for; and the
forms of a word table.

Inputs are integers and logits float32 throughout. What stores weights in a precision is in compress
(`quantize_onnx`, `quantize_tflite`).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Precision:
    """How weights are stored and what is computed with them."""

    name: str
    """Name in manifests and results, and value of --quantize."""
    bits: int
    """Of a stored weight of a Linear; below 16 an integer with a scale for each output channel."""
    table_bits: int
    """Of positions and token types, and of words unless they are stored in a form of their own."""
    quantized_activations: bool = False
    """Whether products are of integers, activations being quantized as it runs."""
    in_words: str
    """For a model card."""
    meaning: Mapping[str, str]
    """What is stored and computed, by kind of bundle; without an entry there is no such export."""
    largest_share: Mapping[str, float]
    """By kind of bundle: of the bytes in fp32, what may remain. Biases and LayerNorms stay float."""
    probe_tolerance: float
    """Largest root-mean-square difference from PyTorch's logits, relative to their own deviation within a
    window."""
    equal_spans: float
    """Share of real windows whose best span must stay the same."""
    mark: str
    """Marker in plots, in matplotlib's notation."""


# Tolerances: measured on a trained model were fp32 2e-6, fp16 5e-4 (LiteRT) and 1.5e-3 (ONNX Runtime),
# int8-weights 0.04, int8 0.05 (LiteRT with XNNPACK), 0.17 (without) and 0.12 (ONNX Runtime), int4 0.46
# (LiteRT 1.4 and 2.3, with XNNPACK and without). Wrong runtimes were seen at 1.4 and above, as far off as
# unrelated logits. Spans: equal to the last for fp32; a near tie may turn in fp16; int8 turned none to one in
# twenty of a well trained model's and one in nine of the demo's, whose spans are near ties more often; int4
# one in five of the former and half of an untrained model's. Garbage keeps almost none.
ENTRIES = (
    Precision(
        name="fp32",
        bits=32,
        table_bits=32,
        in_words="weights and arithmetic in 32 bits",
        meaning=dict.fromkeys(("pytorch", "onnx", "tflite"), "float32 weights and arithmetic"),
        largest_share={"onnx": 1.0, "tflite": 1.0},
        probe_tolerance=1e-4,
        equal_spans=0.999,
        mark="o",
    ),
    Precision(
        name="fp16",
        bits=16,
        table_bits=16,
        in_words="weights in 16 bits",
        meaning={
            "pytorch": "float16 weights, turned to float32 when the model is opened",
            "onnx": "float16 weights; float16 arithmetic where the CPU has kernels, else casts to float32",
            "tflite": "float16 weights, turned to float32 when the model is loaded",
        },
        largest_share={"onnx": 0.55, "tflite": 0.55},
        probe_tolerance=1e-2,
        equal_spans=0.95,
        mark="s",
    ),
    Precision(
        name="int8",
        bits=8,
        table_bits=8,
        quantized_activations=True,
        in_words="weights in 8 bits, activations quantized as it runs",
        meaning={
            # An LSTM becomes ONNX Runtime's DynamicQuantizeLSTM: the same for its two matrices, its input and
            # its state.
            "onnx": "int8 weights by output channel, int8 embeddings by row; "
            "activations quantized as it runs, by tensor",
            "tflite": "int8 weights by output channel and int8 embeddings by row; "
            "activations quantized as it runs, by token, "
            "and in the products of attention with scales measured on training windows",
        },
        largest_share={"onnx": 0.30, "tflite": 0.35},
        probe_tolerance=0.25,
        equal_spans=0.70,
        mark="^",
    ),
    Precision(
        name="int8-weights",
        bits=8,
        table_bits=8,
        in_words="weights stored in 8 bits, arithmetic in 32",
        meaning={
            "pytorch": "int8 weights by output channel and int8 embeddings by row, "
            "turned to float32 when the model is opened",
            # ONNX Runtime 1.31 turns these products into its own operator for int8 weights and float
            # activations.
            "onnx": "int8 weights by output channel and int8 embeddings by row; float32 activations",
            "tflite": "int8 weights by output channel and int8 embeddings by row, "
            "dequantized; float32 arithmetic",
        },
        largest_share={"onnx": 0.30, "tflite": 0.35},
        probe_tolerance=0.15,
        equal_spans=0.70,
        mark="D",
    ),
    Precision(
        name="int4",
        bits=4,
        table_bits=8,
        quantized_activations=True,
        in_words="weights in 4 bits, positions in 8, activations quantized as it runs",
        meaning={
            # Not in blocks: LiteRT 1.4 computes those wrongly. Not in ONNX: ONNX Runtime's int4 product takes
            # twice as long as its int8.
            "tflite": "int4 weights by output channel and int4 word embeddings by row, "
            "clipped for the least squared error; "
            "positions int8; activations quantized as it runs, by token, and in the products of attention "
            "with scales measured "
            "on training windows",
        },
        largest_share={"tflite": 0.20},
        probe_tolerance=0.8,
        equal_spans=0.30,
        mark="v",
    ),
)
PRECISIONS = {precision.name: precision for precision in ENTRIES}
# Those whose products are of integers: the rounding of the others is that of their weights alone.
INTEGER_BITS = {precision.name: precision.bits for precision in ENTRIES if precision.quantized_activations}

# Forms in which a word table may be stored, beside such weights: bits of a value in quantized rows, or values
# to a byte of product quantization.
ROW_BITS = {"int8": 8, "int4": 4}
GROUP_SIZES = {"pq3": 3, "pq4": 4}
TABLE_FORMS = (*ROW_BITS, *GROUP_SIZES)
