"""The two products of attention in int8, written into a .tflite whose attention is float.

LiteRT's CPU kernels multiply two int8 activations too, in a quarter of the time of floats. ai-edge-quantizer
would put its QUANTIZE and DEQUANTIZE right around each product. Here what only moves numbers moves bytes, a
Linear's output is quantized once for query, key and value, and softmax stays float:

    FULLY_CONNECTED -> QUANTIZE -> ... -> BATCH_MATMUL -> DEQUANTIZE -> ADD mask
        -> SOFTMAX -> QUANTIZE -> BATCH_MATMUL -> ...
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from export.tflite.attention_scales import GroupScales
from export.tflite.graph import TFLiteGraph
from qa.base.errors import ParityError

MOVES = ("RESHAPE", "TRANSPOSE", "SLICE", "SPLIT", "CONCATENATION")


class _Int8(NamedTuple):
    scale: float
    zero_point: int = 0


def int8_attention(graph: TFLiteGraph, scales: Sequence[GroupScales | None]) -> None:
    """Compute the products of a signature's groups of heads in int8; `scales` in the order in which they are
    computed.

    A group without scales stays float. ParityError when the signature has not just these groups.
    """
    if not any(scales):
        return
    groups = find_groups(graph)
    seen = [math.prod(graph.shape(scores.outputs[0])[:-2]) for scores, _ in groups]
    wanted = list[int]()
    for i, of in enumerate(scales):
        wanted.append(of.n_heads if of is not None else seen[i] if i < len(seen) else 0)
    if seen != wanted:
        raise ParityError(
            f"attention in int8 was measured for groups of {wanted} heads; the converted graph has {seen}"
        )
    int8 = dict[int, _Int8]()
    sources = dict[int, _Int8]()
    products = []
    for (scores, context), of in zip(groups, scales, strict=True):
        if of is not None:
            _take_key_as_it_is(graph, scores)
            for tensor in (*scores.inputs, context.inputs[1]):
                _mark_above(graph, tensor, _Int8(of.projection), int8, sources)
            _mark_above(graph, context.inputs[0], _Int8(of.weights, -128), int8, sources)
            int8[scores.outputs[0]] = _Int8(of.scores, of.scores_zero_point)
            int8[context.outputs[0]] = _Int8(of.context)
            products += [scores, context]
    graph.drop_unused()  # what transposed the keys
    _write(graph, products, int8, sources)


def find_groups(graph: TFLiteGraph) -> list[tuple[Any, Any]]:
    """Both products of each group of heads: the one softmax is taken of, and the one that takes it."""
    groups = []
    for operator in graph.operators:
        if graph.name(operator) == "BATCH_MATMUL" and len(graph.data_inputs(operator)) == 2:
            softmax = graph.above(operator.inputs[0], ("RESHAPE", "QUANTIZE"))
            if softmax is not None and graph.name(softmax) == "SOFTMAX":
                scores = graph.above(softmax.inputs[0], ("RESHAPE", "ADD", "DEQUANTIZE"))
                if scores is not None and graph.name(scores) == "BATCH_MATMUL":
                    groups.append((scores, operator))
    return groups


def _take_key_as_it_is(graph: TFLiteGraph, scores: Any) -> None:
    """Let the product take the key (N, T, D), not transposed: LiteRT prepares that for its kernel several
    times as fast."""
    query, key = (graph.above(tensor) for tensor in scores.inputs)
    if not all(moved is not None and graph.name(moved) == "RESHAPE" for moved in (query, key)):
        return
    transpose = graph.above(key.inputs[0])
    order = (
        graph.constant(transpose.inputs[1])
        if transpose is not None and graph.name(transpose) == "TRANSPOSE"
        else None
    )
    if order is not None and order.view(np.int32).tolist() == [0, 1, 3, 2]:
        key.inputs = [transpose.inputs[0], query.inputs[1]]
        key.builtinOptions = query.builtinOptions
        graph.set_shape(key.outputs[0], graph.shape(query.outputs[0]))
        scores.builtinOptions.adjY = True


def _mark_above(
    graph: TFLiteGraph, tensor: int, kind: _Int8, int8: dict[int, _Int8], sources: dict[int, _Int8]
) -> None:
    """Make int8 what moves a tensor's numbers to it; `sources` are the floats they come from."""
    operator = graph.above(tensor)
    if operator is None or graph.name(operator) not in MOVES:
        sources[tensor] = kind
        return
    int8 |= dict.fromkeys(operator.outputs, kind)
    for moved in graph.data_inputs(operator):
        _mark_above(graph, moved, kind, int8, sources)


def _write(
    graph: TFLiteGraph, products: Sequence[Any], int8: dict[int, _Int8], sources: dict[int, _Int8]
) -> None:
    """The operators again, with QUANTIZE before the first that takes int8 and DEQUANTIZE before the first
    that takes floats."""
    quantized = dict[int, int]()
    restored = dict[int, int]()
    operators = graph.operators
    graph.clear()
    for operator in operators:
        data = graph.data_inputs(operator)
        moves = graph.name(operator) in MOVES
        if (
            moves and data and all(tensor in int8 for tensor in data)
        ):  # after a product: bytes as long as possible
            int8 |= dict.fromkeys(operator.outputs, int8[data[0]])
        takes_int8 = any(operator is product for product in products) or (
            moves and operator.outputs[0] in int8
        )
        new = quantized if takes_int8 else restored
        for tensor in data:
            if (tensor in int8) != takes_int8 and tensor not in new:
                new[tensor] = graph.new_operator("QUANTIZE" if takes_int8 else "DEQUANTIZE", [tensor])
                if takes_int8:
                    graph.set_int8(new[tensor], *sources[tensor])
        operator.inputs = [new[t] if t in data and (t in int8) != takes_int8 else t for t in operator.inputs]
        if takes_int8:
            graph.set_name(operator, graph.name(operator))
        graph.append(operator)
    for tensor, kind in int8.items():
        graph.set_int8(tensor, *kind)
