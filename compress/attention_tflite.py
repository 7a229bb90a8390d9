"""The two products of attention in int8, written into a .tflite whose attention is float.

LiteRT's CPU kernels multiply two int8 activations too, at a quarter of the time of floats. ai-edge-quantizer has no scales for a
group of heads, and would put its QUANTIZE and DEQUANTIZE right around each product; here what only moves numbers (RESHAPE,
TRANSPOSE, SLICE, CONCATENATION) moves bytes, a Linear's output is quantized once for query, key and value, and softmax stays float:

    FULLY_CONNECTED -> QUANTIZE -> ... -> BATCH_MATMUL -> DEQUANTIZE -> ADD mask -> SOFTMAX -> QUANTIZE -> BATCH_MATMUL -> ...
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from compress.attention_scales import GroupScales
from qa.errors import ParityError

MOVES = {"RESHAPE": 1, "TRANSPOSE": 2, "SLICE": 2, "SPLIT": 2, "CONCATENATION": 2}  # with the version that takes int8
VERSIONS = MOVES | {"BATCH_MATMUL": 2, "QUANTIZE": 1, "DEQUANTIZE": 2}


class _Int8(NamedTuple):
    scale: float
    zero_point: int = 0


def int8_attention(model: bytes, scales: Sequence[GroupScales | None]) -> bytes:
    """The .tflite with the products of its groups of heads in int8; `scales` in the order in which they are computed.

    A group without scales stays float. ParityError when a signature has not just these groups.
    """
    if not any(scales):
        return model
    from ai_edge_litert.tools import flatbuffer_utils

    tree = flatbuffer_utils.read_model_from_bytearray(bytearray(model))
    for graph in tree.subgraphs:
        _Rewriter(tree, graph).rewrite(scales)
    return bytes(flatbuffer_utils.convert_object_to_bytearray(tree))


class _Rewriter:
    """One signature's graph, changed in place: first it is decided which tensors become int8, then operators are written."""

    def __init__(self, tree: Any, graph: Any) -> None:
        from ai_edge_litert import schema_py_generated

        self._schema, self._tree, self._graph = schema_py_generated, tree, graph
        names = {value: name for name, value in vars(schema_py_generated.BuiltinOperator).items() if not name.startswith("_")}
        self._codes = [names[max(code.builtinCode, code.deprecatedBuiltinCode)] for code in tree.operatorCodes]
        self._producers = {output: operator for operator in graph.operators for output in operator.outputs}
        self._int8: dict[int, _Int8] = {}  # tensors that become int8
        self._sources: dict[int, _Int8] = {}  # float ones that an int8 operator reads
        self._quantized: dict[int, int] = {}
        self._restored: dict[int, int] = {}

    def _name(self, operator: Any) -> str:
        return self._codes[operator.opcodeIndex]

    def _is_data(self, tensor: int) -> bool:
        """Whether it is neither a constant nor absent."""
        return tensor >= 0 and self._tree.buffers[self._graph.tensors[tensor].buffer].data is None

    def _above(self, tensor: int, through: Sequence[str]) -> Any:
        """The operator that made a tensor, behind those of `through`; None for an input or a constant."""
        operator = self._producers.get(tensor)
        while operator is not None and self._name(operator) in through:
            operator = self._producers.get(next(filter(self._is_data, operator.inputs), -1))
        return operator

    def _groups(self) -> list[tuple[Any, Any]]:
        """Both products of each group of heads: the one softmax is taken of, and the one that takes it."""
        groups = []
        for operator in self._graph.operators:
            if self._name(operator) == "BATCH_MATMUL" and all(map(self._is_data, operator.inputs)):
                softmax = self._above(operator.inputs[0], ("RESHAPE",))
                if softmax is not None and self._name(softmax) == "SOFTMAX":
                    scores = self._above(softmax.inputs[0], ("RESHAPE", "ADD"))
                    if scores is not None and self._name(scores) == "BATCH_MATMUL":
                        groups.append((scores, operator))
        return groups

    def rewrite(self, scales: Sequence[GroupScales | None]) -> None:
        """Products, and what moves numbers to them and from them."""
        groups = self._groups()
        seen, wanted = [len(groups)], [len(scales)]
        if seen == wanted:
            seen = [int(np.prod(self._graph.tensors[scores.outputs[0]].shape[:-2])) for scores, _ in groups]
            wanted = [n if of is None else of.n_heads for n, of in zip(seen, scales, strict=True)]
        if seen != wanted:
            raise ParityError(f"attention in int8 needs the groups of heads {wanted} in the converted graph, which has {seen}")
        products = []
        for (scores, context), of in zip(groups, scales, strict=True):
            if of is not None:
                for tensor in (*scores.inputs, context.inputs[1]):
                    self._mark_above(tensor, _Int8(of.projection))
                self._mark_above(context.inputs[0], _Int8(of.weights, -128))
                self._int8[scores.outputs[0]] = _Int8(of.scores, of.scores_zero_point)
                self._int8[context.outputs[0]] = _Int8(of.context)
                products += [scores, context]
        self._write(products)

    def _mark_above(self, tensor: int, int8: _Int8) -> None:
        """Make int8 what moves a tensor's numbers to it."""
        operator = self._producers.get(tensor)
        if operator is None or self._name(operator) not in MOVES:
            self._sources[tensor] = int8
            return
        for output in operator.outputs:
            self._int8[output] = int8
        for moved in filter(self._is_data, operator.inputs):
            self._mark_above(moved, int8)

    def _write(self, products: Sequence[Any]) -> None:
        """The operators again, with QUANTIZE before the first int8 one and DEQUANTIZE before the first float one."""
        old, self._graph.operators = self._graph.operators, []
        for operator in old:
            data = [tensor for tensor in operator.inputs if self._is_data(tensor)]
            moves = self._name(operator) in MOVES
            if moves and data and all(tensor in self._int8 for tensor in data):  # after a product: bytes as long as possible
                self._int8 |= {output: self._int8[data[0]] for output in operator.outputs}
            if any(operator is product for product in products) or (moves and operator.outputs[0] in self._int8):
                operator.inputs = [t if t in self._int8 or not self._is_data(t) else self._as_int8(t) for t in operator.inputs]
                operator.opcodeIndex = self._code(self._name(operator))
            else:
                operator.inputs = [self._as_float(t) if t in self._int8 else t for t in operator.inputs]
            self._graph.operators.append(operator)
        for tensor, int8 in self._int8.items():
            self._set_int8(self._graph.tensors[tensor], int8)

    def _as_int8(self, tensor: int) -> int:
        """The quantized float tensor, quantized once."""
        if tensor not in self._quantized:
            self._quantized[tensor] = self._add("QUANTIZE", tensor)
            self._set_int8(self._graph.tensors[self._quantized[tensor]], self._sources[tensor])
        return self._quantized[tensor]

    def _as_float(self, tensor: int) -> int:
        if tensor not in self._restored:
            self._restored[tensor] = self._add("DEQUANTIZE", tensor)
        return self._restored[tensor]

    def _add(self, name: str, tensor: int) -> int:
        """Append QUANTIZE or DEQUANTIZE of a tensor; the index of its output, which is float until it is set."""
        made, like = self._schema.TensorT(), self._graph.tensors[tensor]
        made.shape, made.shapeSignature, made.hasRank, made.type = like.shape, like.shapeSignature, True, self._schema.TensorType.FLOAT32
        self._graph.tensors.append(made)
        operator = self._schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = self._code(name), [tensor], [len(self._graph.tensors) - 1]
        self._graph.operators.append(operator)
        return operator.outputs[0]

    def _code(self, name: str) -> int:
        """The index of an operator's code, of the version that takes int8."""
        builtin, version = getattr(self._schema.BuiltinOperator, name), VERSIONS[name]
        for index, code in enumerate(self._tree.operatorCodes):
            if self._codes[index] == name:
                code.version = max(code.version, version)
                return index
        code = self._schema.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode, code.version = builtin, min(builtin, 127), version
        self._tree.operatorCodes.append(code)
        self._codes.append(name)
        return len(self._codes) - 1

    def _set_int8(self, tensor: Any, int8: _Int8) -> None:
        quantization = self._schema.QuantizationParametersT()
        quantization.scale, quantization.zeroPoint = np.array([int8.scale], np.float32), np.array([int8.zero_point], np.int64)
        tensor.type, tensor.quantization = self._schema.TensorType.INT8, quantization
