"""Positions without a look-up: a slice of their int8 table, which all signatures share.

LiteRT's int8 EMBEDDING_LOOKUP takes 2 % of a small student's time for each table, for it restores number by
number.
"""

import numpy as np

from export.tflite.graph import TFLiteGraph


def slice_positions(graph: TFLiteGraph) -> None:
    """In place of each EMBEDDING_LOOKUP of int8 rows at constant places one after the other, a SLICE times
    the rows' scales."""
    operators = graph.operators
    graph.clear()
    for operator in operators:
        first = None
        scales = None
        if graph.name(operator) == "EMBEDDING_LOOKUP":
            first = _first_row(graph, operator.inputs[0])
            scales = graph.scales(operator.inputs[1])
        if first is None or scales is None:
            graph.append(operator)
            continue
        table = operator.inputs[1]
        output = operator.outputs[0]
        n_rows, width = graph.shape(output)
        place, size = (
            graph.new_constant(np.array(sides, np.int32)) for sides in ([first, 0], [n_rows, width])
        )
        rows = graph.new_operator("SLICE", [table, place, size], graph.new_tensor((n_rows, width)))
        for tensor in (table, rows):
            graph.set_int8(tensor, 1.0)
        scale = graph.new_constant(scales[first : first + n_rows, None])
        graph.new_operator("MUL", [graph.new_operator("DEQUANTIZE", [rows]), scale], output)
    graph.drop_unused()


def _first_row(graph: TFLiteGraph, places: int) -> int | None:
    """The first of the rows that are looked up; None when they are not known, or not one after the other."""
    operator = graph.above(places, ("RESHAPE",))
    inputs = operator.inputs if operator is not None and graph.name(operator) == "ADD" else []
    known = [
        constant.view(np.int32).ravel() for constant in map(graph.constant, inputs) if constant is not None
    ]
    return int(known[0][0]) if len(known) == 1 and (np.diff(known[0]) == 1).all() else None
