"""One signature of a .tflite, opened for small changes: what made a tensor, new operators, constants and int8
tensors."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

# Versions of the operators that are written here, or get int8 tensors; older ones take floats alone.
VERSIONS = {
    "RESHAPE": 1,
    "TRANSPOSE": 2,
    "SLICE": 2,
    "SPLIT": 2,
    "CONCATENATION": 2,
    "BATCH_MATMUL": 2,
    "QUANTIZE": 1,
    "DEQUANTIZE": 2,
    "MUL": 1,
}


def edit(model: bytes, change: Callable[["TFLiteGraph"], None]) -> bytes:
    """The .tflite after `change` was applied to each of its signatures."""
    from ai_edge_litert.tools import flatbuffer_utils

    tree = flatbuffer_utils.read_model_from_bytearray(bytearray(model))
    for graph in tree.subgraphs:
        change(TFLiteGraph(tree, graph))
    return bytes(flatbuffer_utils.convert_object_to_bytearray(tree))


class TFLiteGraph:
    """Tensors are named by their index, operators are the schema's objects; `operators` is rewritten from
    front to back."""

    def __init__(self, tree: Any, graph: Any) -> None:
        from ai_edge_litert import schema_py_generated

        self._schema = schema_py_generated
        self._tree = tree
        self._graph = graph
        names = {
            value: name
            for name, value in vars(schema_py_generated.BuiltinOperator).items()
            if not name.startswith("_")
        }
        self._names = [
            names[max(code.builtinCode, code.deprecatedBuiltinCode)] for code in tree.operatorCodes
        ]
        self._producers = {output: operator for operator in graph.operators for output in operator.outputs}

    @property
    def operators(self) -> list[Any]:
        """In the order in which they run."""
        return list(self._graph.operators)

    def clear(self) -> None:
        """Take all operators out, to append again those that stay."""
        self._graph.operators = []

    def append(self, operator: Any) -> None:
        """Run it after all that were appended."""
        self._graph.operators.append(operator)

    def drop_unused(self) -> None:
        """Take out operators whose results nobody reads."""
        used = set(self._graph.outputs)
        kept = []
        for operator in reversed(self._graph.operators):
            if used.intersection(operator.outputs):
                kept.append(operator)
                used.update(operator.inputs)
        self._graph.operators = kept[::-1]

    def name(self, operator: Any) -> str:
        """Of what it does."""
        return self._names[operator.opcodeIndex]

    def shape(self, tensor: int) -> tuple[int, ...]:
        """Its sides."""
        return tuple(int(side) for side in self._graph.tensors[tensor].shape)

    def constant(self, tensor: int) -> np.ndarray | None:
        """A constant's bytes, uint8; None of what is computed, of an input, and of an operand that is left
        out."""
        data = None if tensor < 0 else self._tree.buffers[self._graph.tensors[tensor].buffer].data
        return None if data is None else np.frombuffer(data, np.uint8)

    def data_inputs(self, operator: Any) -> list[int]:
        """The inputs that are no constants."""
        return [tensor for tensor in operator.inputs if tensor >= 0 and self.constant(tensor) is None]

    def above(self, tensor: int, through: Collection[str] = ()) -> Any:
        """The operator that made a tensor, behind those of `through`; None for an input or a constant."""
        operator = self._producers.get(tensor)
        while operator is not None and self.name(operator) in through:
            operator = self._producers.get(next(iter(self.data_inputs(operator)), -1))
        return operator

    def set_int8(self, tensor: int, scale: float, zero_point: int = 0) -> None:
        """Make a tensor int8."""
        quantization = self._schema.QuantizationParametersT()
        changed = self._graph.tensors[tensor]
        quantization.scale = np.array([scale], np.float32)
        quantization.zeroPoint = np.array([zero_point], np.int64)
        changed.type = self._schema.TensorType.INT8
        changed.quantization = quantization

    def scales(self, tensor: int) -> np.ndarray | None:
        """Those of an int8 tensor, float32."""
        stored = self._graph.tensors[tensor]
        return stored.quantization.scale if stored.type == self._schema.TensorType.INT8 else None

    def set_shape(self, tensor: int, shape: Sequence[int]) -> None:
        """Give a tensor other sides."""
        self._graph.tensors[tensor].shape = np.array(shape, np.int32)

    def new_tensor(self, shape: Sequence[int], buffer: int = 0, integer: bool = False) -> int:
        """A float tensor, or an int32 one."""
        made = self._schema.TensorT()
        types = self._schema.TensorType
        made.shape = np.array(shape, np.int32)
        made.hasRank = True
        made.buffer = buffer
        made.type = types.INT32 if integer else types.FLOAT32
        self._graph.tensors.append(made)
        return len(self._graph.tensors) - 1

    def new_constant(self, values: np.ndarray) -> int:
        """A constant of float32 or int32 values."""
        buffer = self._schema.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
        self._tree.buffers.append(buffer)
        return self.new_tensor(values.shape, len(self._tree.buffers) - 1, integer=values.dtype == np.int32)

    def new_operator(self, name: str, inputs: Sequence[int], output: int | None = None) -> int:
        """Append an operator without options; its output, by default a new float tensor like its first
        input.
        """
        operator = self._schema.OperatorT()
        operator.inputs = list(inputs)
        operator.outputs = [self.new_tensor(self.shape(inputs[0])) if output is None else output]
        self.set_name(operator, name)
        self.append(operator)
        return int(operator.outputs[0])

    def set_name(self, operator: Any, name: str) -> None:
        """Make it an operator of VERSIONS, in a version that takes int8."""
        if name not in self._names:
            builtin = getattr(self._schema.BuiltinOperator, name)
            code = self._schema.OperatorCodeT()
            code.builtinCode = builtin
            code.deprecatedBuiltinCode = min(builtin, 127)
            code.version = 1
            self._tree.operatorCodes.append(code)
            self._names.append(name)
        operator.opcodeIndex = self._names.index(name)
        code = self._tree.operatorCodes[operator.opcodeIndex]
        code.version = max(code.version, VERSIONS[name])
