"""Pass that makes one graph for all window lengths of a file that has the same graph at two lengths.

The converter traces fixed lengths. Both graphs differ where the length stands: in shapes that RESHAPE gets as
constants, in sizes of SLICE, in constants of that length. In shapes it becomes -1, which LiteRT infers.
XNNPACK resizes all else and packs no weight again. A window of 170 tokens takes the time of a graph of 170.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from export.tflite.file import TFLiteFile, TFLiteGraph
from qa.base.errors import UnsupportedExport

MOST_PARTS = 4  # outputs of a SPLIT that XNNPACK computes
SHORTEST = 3  # tokens that every window has: [CLS] [SEP] [SEP]


class OneLength(UnsupportedExport):
    """The graph depends on its length in a way that LiteRT cannot infer."""


def merge_lengths(file: TFLiteFile, name: str) -> None:
    """Replace the file's two signatures, the longer one last, by one of any length called `name`.

    OneLength where the length stands in a place that LiteRT cannot infer.
    """
    shorter, longer = file.graphs
    _AnyLength(longer, _dynamic_axes(shorter, longer)).rewrite()
    file.keep_graph(longer, name)


def _dynamic_axes(shorter: TFLiteGraph, longer: TFLiteGraph) -> dict[int, list[int]]:
    """Return the axes of each tensor of the longer graph that have another size in the shorter one."""
    operators = list(zip(shorter.operators, longer.operators, strict=False))
    same = len(shorter.operators) == len(longer.operators)
    if not same or any(shorter.name(a) != longer.name(b) for a, b in operators):
        raise OneLength("the graph has other operators at another length")
    axes = dict[int, list[int]]()
    for a, b in operators:
        tensors = zip((*a.inputs, *a.outputs), (*b.inputs, *b.outputs), strict=True)
        for before, after in tensors:
            if after >= 0:
                sides = zip(shorter.shape(before), longer.shape(after), strict=True)
                axes[int(after)] = [axis for axis, (m, n) in enumerate(sides) if m != n]
                _check_constant(shorter, before, longer, after, longer.name(b))
    return axes


def _check_constant(
    shorter: TFLiteGraph, before: int, longer: TFLiteGraph, after: int, operator: str
) -> None:
    """Raise OneLength for a constant that depends on the length, unless it says a shape."""
    values = longer.constant(after)
    if values is None or operator in ("RESHAPE", "SLICE"):
        return
    other = shorter.constant(before)
    if other is None or not np.array_equal(values, other):
        raise OneLength(f"{operator} has a constant of {longer.shape(after)} for one length only")


def _only_multiplied(graph: TFLiteGraph) -> set[int]:
    """Return the tensors that only products of activations read."""
    read = {True: set[int](), False: set(graph.outputs)}
    for operator in graph.operators:
        read[graph.name(operator) == "BATCH_MATMUL"].update(map(int, operator.inputs))
    return read[True] - read[False]


def _inferred(shape: Sequence[int], axes: Sequence[int]) -> np.ndarray:
    """Return a shape with -1 for the axes of the length."""
    return np.array([-1 if axis in axes else side for axis, side in enumerate(shape)], np.int32)


class _AnyLength:
    """Rewriting of one graph. `axes` are the axes of each tensor whose size is the length."""

    def __init__(self, graph: TFLiteGraph, axes: dict[int, list[int]]) -> None:
        self.graph = graph
        self.axes = axes
        self.multiplied = _only_multiplied(graph)
        self.producers = {output: o for o in graph.operators for output in o.outputs}
        self.same = dict[int, int]()
        """Tensor that replaces another, whose RESHAPE is gone."""

    def rewrite(self) -> None:
        """Rewrite all operators, in order."""
        graph = self.graph
        slices = dict[int, list[Any]]()
        for operator in graph.operators:
            if graph.name(operator) == "SLICE" and self.axes[operator.outputs[0]]:
                slices.setdefault(operator.inputs[0], []).append(operator)
        operators = graph.operators
        graph.clear()
        for operator in operators:
            operator.inputs = [self.same.get(int(tensor), int(tensor)) for tensor in operator.inputs]
            name = graph.name(operator)
            group = next((g for g in slices.values() if any(operator is o for o in g)), None)
            if name == "RESHAPE":
                self._reshape(operator)
            elif group:
                if operator is group[0]:
                    self._split(group)
            else:
                if name == "BATCH_MATMUL":
                    self._product(operator)
                if name == "SLICE":
                    self._check_slice(operator)
                graph.append(operator)
        for tensor in (*graph.inputs, *graph.outputs):
            shape = _inferred(graph.shape(tensor), self.axes.get(tensor, [1]))
            graph.subgraph.tensors[tensor].shapeSignature = shape

    def _product(self, operator: Any) -> None:
        """Give the output of a product the rank of its operands."""
        shape = self.graph.shape(operator.outputs[0])
        if len(shape) == 3 and len(self.graph.shape(operator.inputs[0])) == 4:
            self.graph.subgraph.tensors[operator.outputs[0]].shape = np.array((1, *shape), np.int32)

    def _reshape(self, operator: Any) -> None:
        """Drop a RESHAPE around a product of rank 4, or let its length be inferred."""
        graph = self.graph
        source = int(operator.inputs[0])
        target = int(operator.outputs[0])
        before = graph.shape(source)
        after = graph.shape(target)
        if len(before) == 4 and before == (1, *after) and target in self.multiplied:
            self.same[target] = source
            return
        product = self.producers.get(source)
        if product is not None and graph.name(product) == "BATCH_MATMUL" and after == (1, *before):
            product.outputs = [target]
            return
        axes = self.axes[target]
        if len(axes) > 1 and after == tuple(side for side in before if side != 1):
            of_one = [axis for axis, side in enumerate(before) if side == 1]
            # A single head's attention weights.
            graph.new_operator("SQUEEZE", [source], target, squeezeDims=np.array(of_one, np.int32))
            return
        if len(axes) > 1:
            raise OneLength(f"RESHAPE to {after} has the length in {len(axes)} places")
        if axes:
            values = _inferred(after, axes)
            operator.inputs = [source, graph.new_constant(values)]
            if operator.builtinOptions is not None:
                operator.builtinOptions.newShape = values
        graph.append(operator)

    def _check_slice(self, operator: Any) -> None:
        """Raise OneLength for a SLICE of tokens that not every window has."""
        source, *places = (int(tensor) for tensor in operator.inputs)
        begin, size = map(self.graph.integers, places)
        for axis in self.axes[source]:
            end = begin[axis] + size[axis]
            if end > SHORTEST:
                raise OneLength(f"SLICE takes tokens {begin[axis]} to {end}, which a shorter window has not")

    def _split(self, slices: Sequence[Any]) -> None:
        """Replace SLICEs that cut a tensor into equal parts by SPLITs, which need no size."""
        graph = self.graph
        source = int(slices[0].inputs[0])
        sides = graph.shape(source)
        cuts = sorted((graph.integers(cut.inputs[1]), int(cut.outputs[0])) for cut in slices)
        parts = [part for _, part in cuts]
        shape = graph.shape(parts[0])
        axis = next((axis for axis, side in enumerate(sides) if side != shape[axis]), 0)
        expected = [
            tuple(at if k == axis else 0 for k in range(len(sides)))
            for at in range(0, sides[axis], shape[axis])
        ]
        if [begin for begin, _ in cuts] != expected or any(graph.shape(part) != shape for part in parts):
            raise OneLength(f"SLICE cuts unequal parts of {sides}")
        split(graph, source, axis, parts)


def split(graph: TFLiteGraph, source: int, axis: int, parts: Sequence[int]) -> None:
    """Append SPLITs of a tensor into equal parts, with at most MOST_PARTS each where that is possible."""

    def append_split(outputs: Sequence[int]) -> None:
        place = graph.new_constant(np.array([axis], np.int32))
        graph.new_operator("SPLIT", [place, source], *outputs, numSplits=len(outputs))

    n = len(parts)
    factor = next((n_parts for n_parts in range(MOST_PARTS, 1, -1) if n % n_parts == 0), n)
    if n <= MOST_PARTS or factor == n:
        append_split(parts)
        return
    shape = list(graph.shape(source))
    shape[axis] //= factor
    larger = [graph.new_tensor(shape, like=source) for _ in range(factor)]
    append_split(larger)
    for i, part in enumerate(larger):
        split(graph, part, axis, parts[i * n // factor : (i + 1) * n // factor])
