"""Pass that computes the two products of attention in int8, in a .tflite whose attention is float.

LiteRT's CPU kernels multiply two int8 activations in a quarter of the time of floats. ai-edge-quantizer would
put QUANTIZE and DEQUANTIZE right around each product. Here operators that only move numbers move bytes, a
Linear's output is quantized once for query, key and value, and softmax stays float:

    FULLY_CONNECTED -> QUANTIZE -> ... -> BATCH_MATMUL -> DEQUANTIZE -> ADD mask
        -> SOFTMAX -> QUANTIZE -> BATCH_MATMUL -> ...
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from export.tflite.attention_scales import GroupScales
from export.tflite.file import TFLiteFile, TFLiteGraph
from qa.base.errors import ParityError

MOVES = ("RESHAPE", "TRANSPOSE", "SLICE", "SPLIT", "CONCATENATION")


class _Int8(NamedTuple):
    scale: float
    zero_point: int = 0


def int8_attention(file: TFLiteFile, scales: Sequence[GroupScales | None]) -> None:
    """Compute the products of each group of heads in int8, with `scales` in the order of computation.

    A group without scales stays float. ParityError when a signature has other groups than were measured.
    """
    if any(scales):
        for graph in file.graphs:
            _rewrite(graph, scales)


def _rewrite(graph: TFLiteGraph, scales: Sequence[GroupScales | None]) -> None:
    groups = find_groups(graph)
    sizes = [math.prod(graph.shape(scores.outputs[0])[:-2]) for scores, _ in groups]
    measured = list[int]()
    for i, group in enumerate(scales):
        measured.append(group.n_heads if group is not None else sizes[i] if i < len(sizes) else 0)
    if sizes != measured:
        raise ParityError(
            f"attention in int8 was measured for groups of {measured} heads; the converted graph has {sizes}"
        )
    int8 = dict[int, _Int8]()
    sources = dict[int, _Int8]()
    products = []
    for (scores, context), group in zip(groups, scales, strict=True):
        if group is not None:
            _take_untransposed_key(graph, scores)
            for tensor in (*scores.inputs, context.inputs[1]):
                _mark_above(graph, tensor, _Int8(group.projection), int8, sources)
            _mark_above(graph, context.inputs[0], _Int8(group.weights, -128), int8, sources)
            int8[scores.outputs[0]] = _Int8(group.scores, group.scores_zero_point)
            int8[context.outputs[0]] = _Int8(group.context)
            products += [scores, context]
    graph.drop_unused()  # what transposed the keys
    _write(graph, products, int8, sources)


def find_groups(graph: TFLiteGraph) -> list[tuple[Any, Any]]:
    """Return both products of each group of heads: the scores before softmax, and softmax times value."""
    groups = []
    for operator in graph.operators:
        if graph.name(operator) == "BATCH_MATMUL" and len(graph.data_inputs(operator)) == 2:
            softmax = graph.above(operator.inputs[0], ("RESHAPE", "QUANTIZE"))
            if softmax is not None and graph.name(softmax) == "SOFTMAX":
                scores = graph.above(softmax.inputs[0], ("RESHAPE", "ADD", "DEQUANTIZE"))
                if scores is not None and graph.name(scores) == "BATCH_MATMUL":
                    groups.append((scores, operator))
    return groups


def _take_untransposed_key(graph: TFLiteGraph, scores: Any) -> None:
    """Let the product take the key (N, T, D): LiteRT prepares that several times as fast as (N, D, T)."""
    query, key = (graph.above(tensor) for tensor in scores.inputs)
    if not all(moved is not None and graph.name(moved) == "RESHAPE" for moved in (query, key)):
        return
    transpose = graph.above(key.inputs[0])
    if transpose is None or graph.name(transpose) != "TRANSPOSE":
        return
    order = graph.constant(transpose.inputs[1])
    if order is not None and order.view(np.int32).tolist() == [0, 1, 3, 2]:
        key.inputs = [transpose.inputs[0], query.inputs[1]]
        key.builtinOptions = query.builtinOptions
        graph.set_shape(key.outputs[0], graph.shape(query.outputs[0]))
        scores.builtinOptions.adjY = True


def _mark_above(
    graph: TFLiteGraph, tensor: int, form: _Int8, int8: dict[int, _Int8], sources: dict[int, _Int8]
) -> None:
    """Mark as int8 all tensors that only move to `tensor`; `sources` are the floats they come from."""
    operator = graph.above(tensor)
    if operator is None or graph.name(operator) not in MOVES:
        sources[tensor] = form
        return
    int8 |= dict.fromkeys(operator.outputs, form)
    for moved in graph.data_inputs(operator):
        _mark_above(graph, moved, form, int8, sources)


def _write(
    graph: TFLiteGraph, products: Sequence[Any], int8: dict[int, _Int8], sources: dict[int, _Int8]
) -> None:
    """Rewrite the operators, with QUANTIZE where int8 begins and DEQUANTIZE where floats begin."""
    quantized = dict[int, int]()
    restored = dict[int, int]()
    operators = graph.operators
    graph.clear()
    for operator in operators:
        data = graph.data_inputs(operator)
        is_move = graph.name(operator) in MOVES
        if is_move and data and all(tensor in int8 for tensor in data):
            # After a product bytes are moved as far as possible.
            int8 |= dict.fromkeys(operator.outputs, int8[data[0]])
        is_product = any(operator is product for product in products)
        takes_int8 = is_product or (is_move and operator.outputs[0] in int8)
        converted = quantized if takes_int8 else restored
        for tensor in data:
            if (tensor in int8) != takes_int8 and tensor not in converted:
                converted[tensor] = graph.new_operator("QUANTIZE" if takes_int8 else "DEQUANTIZE", [tensor])
                if takes_int8:
                    graph.set_int8(converted[tensor], *sources[tensor])
        operator.inputs = [
            converted[tensor] if tensor in data and (tensor in int8) != takes_int8 else tensor
            for tensor in operator.inputs
        ]
        if takes_int8:
            graph.take_int8(operator)
        graph.append(operator)
    for tensor, form in int8.items():
        graph.set_int8(tensor, *form)
