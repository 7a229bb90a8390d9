"""Pass that replaces the look-up of positions by a slice of their int8 table, which all signatures share.

LiteRT's int8 EMBEDDING_LOOKUP takes 2 % of a small student's time for each table: it restores number by
number.
"""

import numpy as np

from export.tflite.file import TFLiteFile, TFLiteGraph


def slice_positions(file: TFLiteFile) -> None:
    """Replace each EMBEDDING_LOOKUP of consecutive int8 rows by a SLICE times the rows' scales."""
    for graph in file.graphs:
        _slice_positions(graph)


def _slice_positions(graph: TFLiteGraph) -> None:
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
        place = graph.new_constant(np.array([first, 0], np.int32))
        size = graph.new_constant(np.array([n_rows, width], np.int32))
        rows = graph.new_operator("SLICE", [table, place, size], graph.new_tensor((n_rows, width)))
        for tensor in (table, rows):
            graph.set_int8(tensor, 1.0)
        scale = graph.new_constant(scales[first : first + n_rows, None])
        graph.new_operator("MUL", [graph.new_operator("DEQUANTIZE", [rows]), scale], output)
    graph.drop_unused()


def _first_row(graph: TFLiteGraph, places: int) -> int | None:
    """Return the first of the rows that are looked up; None when they are unknown or not consecutive."""
    operator = graph.above(places, ("RESHAPE",))
    inputs = operator.inputs if operator is not None and graph.name(operator) == "ADD" else []
    constants = [graph.constant(tensor) for tensor in inputs]
    rows = [constant.view(np.int32).ravel() for constant in constants if constant is not None]
    return int(rows[0][0]) if len(rows) == 1 and (np.diff(rows[0]) == 1).all() else None
