"""Count the multiply-adds of a TFLite graph's matrix products, and the least instructions that they need.

An SMMLA of i8mm does 32 multiply-adds of int8, an SDOT of dotprod 16, an SMLAL 8; an FMLA does 4 of fp32. No
kernel for ARM64 needs fewer instructions, as long as it stays in registers of 128 bits.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from qa.bundles.bundle import Bundle
from qa.formats.tflite import signature_length
from qa.text.features import Window

INT8 = "int8"
FP32 = "fp32"
INT8_PER_INSTRUCTION = {"i8mm": 32, "asimddp": 16}  # by the instruction set, the best first
INT8_WITHOUT = 8
FP32_PER_INSTRUCTION = 4


def open_plain(weights: Path) -> Any:
    """Open a TFLite file without XNNPACK, so that allocating tensors packs no weights."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return Interpreter(str(weights), experimental_op_resolver_type=plain)


def multiply_adds(interpreter: Any, length: int) -> Counter[str]:
    """Return the multiply-adds for a window of `length` tokens by type, INT8 or FP32."""
    for tensor in interpreter.get_input_details():
        interpreter.resize_tensor_input(tensor["index"], [1, length])
    interpreter.allocate_tensors()
    tensors = {tensor["index"]: tensor for tensor in interpreter.get_tensor_details()}
    counts: Counter[str] = Counter()
    for operator in interpreter._get_ops_details():
        if operator["op_name"] in ("FULLY_CONNECTED", "BATCH_MATMUL"):
            left, right = (tensors[index] for index in operator["inputs"][:2])
            output = tensors[operator["outputs"][0]]
            summed = int(left["shape"][-1])
            type = FP32 if right["dtype"] is np.float32 else INT8  # int4 is multiplied as int8
            counts[type] += prod(map(int, output["shape"])) * summed
    return counts


def least_instructions(multiply_adds: Counter[str], features: Collection[str]) -> float:
    """Return the vector instructions that these products need at least on a CPU with these features."""
    known = (n for name, n in INT8_PER_INSTRUCTION.items() if name in features)
    per_instruction = {INT8: next(known, INT8_WITHOUT), FP32: FP32_PER_INSTRUCTION}
    return sum(n / per_instruction[type] for type, n in multiply_adds.items())


def least_per_window(bundle: Bundle, windows: Sequence[Window], features: Collection[str]) -> int | None:
    """Return the mean least of unpadded windows; None where the file does not take any length as TFLite."""
    if bundle.format != "tflite":
        return None
    interpreter = open_plain(bundle.weights)
    if [signature_length(name) for name in interpreter.get_signature_list()] != [None]:
        return None
    lengths = Counter(len(window.input_ids) for window in windows)
    least = sum(
        n * least_instructions(multiply_adds(interpreter, length), features) for length, n in lengths.items()
    )
    return round(least / lengths.total())
