"""Pass that looks up bytes where LiteRT would restore a quantized table's rows number by number.

LiteRT's int8 EMBEDDING_LOOKUP to floats takes 2 % of a small student's time for each table. A look-up of
bytes is a copy, and XNNPACK restores the floats.
"""

from typing import Any

from export.tflite.file import TFLiteFile, TFLiteGraph


def look_up_bytes(file: TFLiteFile) -> None:
    """Replace each EMBEDDING_LOOKUP that gives floats of int8 rows by look-ups of bytes and scales."""
    columns = dict[int, int]()
    for graph in file.graphs:
        operators = graph.operators
        graph.clear()
        for operator in operators:
            gives_floats = graph.type_name(operator.outputs[0]) == "FLOAT32"
            if graph.name(operator) == "EMBEDDING_LOOKUP" and gives_floats:
                _look_up(graph, operator, columns)
            else:
                graph.append(operator)


def _look_up(graph: TFLiteGraph, operator: Any, columns: dict[int, int]) -> None:
    """Append the look-ups; `columns` has the constant of scales for each table, shared by all graphs."""
    rows, table = operator.inputs
    scales = graph.scales(table)
    if scales is None:
        graph.append(operator)
        return
    output = operator.outputs[0]
    shape = graph.shape(output)
    values = graph.new_operator("EMBEDDING_LOOKUP", [rows, table], graph.new_tensor(shape))
    for tensor in (table, values):
        graph.set_int8(tensor)
    stored = graph.buffer(table)
    if stored not in columns:
        columns[stored] = graph.buffer(graph.new_constant(scales[:, None]))
    column = graph.new_tensor((len(scales), 1), columns[stored])
    steps = graph.new_operator("EMBEDDING_LOOKUP", [rows, column], graph.new_tensor((shape[0], 1)))
    graph.new_operator("MUL", [graph.new_operator("DEQUANTIZE", [values]), steps], output)
