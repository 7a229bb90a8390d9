"""fp32 ONNX graph -> fp16, int8 or int8-weights in standard operators; qa.formats.precision says what each
means.

A matrix that multiplies is stored int8 with one scale for each output channel, an embedding table int8 with
one scale for each row. A run thus scales only the rows that it gathers. The standard has no int8 LSTM: that
operator is ONNX Runtime's own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from export.onnx.balance import balance, channel_ranges, large_constants, linear_nodes
from qa.base.errors import ParityError, UnsupportedExport
from qa.bundles.manifest import Structure
from qa.formats.precision import PRECISIONS
from qa.text.features import Window

RUNTIME_DOMAIN = "com.microsoft"
TYPE_OF_BITS = {32: TensorProto.FLOAT, 16: TensorProto.FLOAT16, 8: TensorProto.INT8}


def quantize(model: ModelProto, precision: str, windows: Sequence[Window]) -> ModelProto:
    """Return a copy of an fp32 graph in another precision; `windows` calibrate int8's balance.

    UnsupportedExport for a precision that is not made here.
    """
    quantized = ModelProto()
    quantized.CopyFrom(model)
    if precision == "fp16":
        from onnxruntime.transformers.float16 import convert_float_to_float16

        return convert_float_to_float16(quantized, keep_io_types=True)
    if precision == "int8":
        rewrite_as_int8(quantized, balance(model, channel_ranges(model, windows)))
    elif precision == "int8-weights":
        rewrite_as_int8(quantized, None)
    elif precision != "fp32":
        raise UnsupportedExport(f"--quantize {precision}: export/onnx/quantize.py does not know it")
    return quantized


def int8_along(weight: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return symmetric int8 values, and a float scale for each slice along `axis`, kept as a side of 1."""
    return _int8_of_range(weight, np.abs(weight).max(axis=axis, keepdims=True))


def int8_for_products(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return symmetric int8 values of matrices (..., K, N) to multiply uint8 by, and scales (..., 1, N).

    x86 without VNNI (vpmaddubsw) adds the products of rows k and k + 1, k even, into 16 bits, which saturate
    (onnxruntime issues 6004 and 14642). So a pair of one sign sums to 128 at most, for 255 * 128 fits: to 127
    before both are rounded. On a trained 6 x 384 model scales grew to 1.19 times in the median and the
    difference from fp32 stayed the same; without this bound it rose from 0.05 to 0.07 on such a CPU. uint8
    weights do not saturate, but took 1.5 times as long with VNNI.
    """
    even = weight[..., ::2, :]
    odd = weight[..., 1::2, :]
    odd = np.concatenate([odd, np.zeros_like(even[..., odd.shape[-2] :, :])], axis=-2)
    of_one_sign = [np.maximum(sign * even, 0) + np.maximum(sign * odd, 0) for sign in (1, -1)]
    return _int8_of_range(weight, np.maximum(*of_one_sign).max(axis=-2, keepdims=True))


def _int8_of_range(weight: np.ndarray, largest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    return np.round(weight / scale).astype(np.int8), scale


def rewrite_as_int8(model: ModelProto, balance_scales: Mapping[str, np.ndarray] | None) -> None:
    """Store matrices and tables int8, in place.

    With scales to balance by, multiply int8 too; with None restore floats.
    """
    constants = large_constants(model)
    linears = {node.name for node in linear_nodes(model)}
    tables = {name for name, tensor in constants.items() if not is_finished(tensor)}
    rewriter = _Rewriter(balance_scales or {})
    if balance_scales is None:
        matmul, lstm = rewriter.dequantized_matmul, rewriter.dequantized_lstm
    else:
        matmul, lstm = rewriter.integer_matmul, rewriter.integer_lstm
    for node in model.graph.node:
        if node.name in linears:
            matmul(node, numpy_helper.to_array(constants[node.input[1]]))
        elif node.op_type == "LSTM":
            lstm(node, [numpy_helper.to_array(constants[name]) for name in node.input[1:3]])
        elif node.op_type == "Gather" and node.input[0] in tables:
            rewriter.gather(node, numpy_helper.to_array(constants[node.input[0]]))
        else:
            rewriter.nodes.append(node)
    nodes = rewriter.nodes
    used = {name for node in nodes for name in node.input}
    remaining = [tensor for tensor in model.graph.initializer if tensor.name in used]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend([*remaining, *rewriter.constants.values()])
    if any(node.domain == RUNTIME_DOMAIN for node in nodes):
        model.opset_import.append(helper.make_opsetid(RUNTIME_DOMAIN, 1))


def is_finished(table: TensorProto) -> bool:
    """Return whether a table came as integers (export.embeddings) and stays as it is."""
    return table.data_type == TensorProto.INT8


class _Rewriter:
    """Nodes and constants of the graph that is being written.

    A matrix's constants are named after the first Linear that uses it.
    """

    def __init__(self, balance_scales: Mapping[str, np.ndarray]) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}
        self._first_use: dict[str, str] = {}
        self._balance = balance_scales
        self._quantized_inputs: dict[str, tuple[str, str, str]] = {}

    def _constant(self, name: str, values: np.ndarray) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def _node(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> None:
        self.nodes.append(
            helper.make_node(operator, inputs, outputs, name=f"{outputs[0]}/{operator}", **attributes)
        )

    def _balanced_input(self, name: str, owner: str) -> str:
        """Balance the channels of an input of a Linear or LSTM; return the new input."""
        scale = self._constant(f"{owner}/balance", 1 / self._balance[name])
        self._node("Mul", [name, scale], [f"{name}/balanced"])
        return f"{name}/balanced"

    def _quantized_input(self, name: str, owner: str) -> tuple[str, str, str]:
        """Return uint8 values, scale and zero point of a Linear's input.

        They are computed once for all Linears with this input.
        """
        if name not in self._quantized_inputs:
            balanced = self._balanced_input(name, owner)
            outputs = (f"{name}/int8", f"{name}/scale", f"{name}/zero_point")
            self._node("DynamicQuantizeLinear", [balanced], outputs)
            self._quantized_inputs[name] = outputs
        return self._quantized_inputs[name]

    def _owner(self, node: NodeProto) -> str:
        """Return the name of the first Linear with the matrix of this node."""
        return self._first_use.setdefault(node.input[1], node.name)

    def integer_matmul(self, node: NodeProto, weight: np.ndarray) -> None:
        """Write the pattern that ONNX Runtime fuses into one operator, with the bias that follows."""
        owner = self._owner(node)
        values, scale, zero_point = self._quantized_input(node.input[0], owner)
        weight_int8, weight_scale = int8_for_products(weight * self._balance[node.input[0]][:, None])
        stored = self._constant(f"{owner}/weight", weight_int8)
        stored_scale = self._constant(f"{owner}/weight_scale", weight_scale.reshape(-1))
        stored_zero = self._constant(f"{owner}/weight_zero_point", np.zeros(weight.shape[1], np.int8))
        names = ("product", "product_float", "scale")
        product, product_float, product_scale = (f"{node.name}/{part}" for part in names)
        self._node("MatMulInteger", [values, stored, zero_point, stored_zero], [product])
        self._node("Cast", [product], [product_float], to=TensorProto.FLOAT)
        self._node("Mul", [scale, stored_scale], [product_scale])
        self._node("Mul", [product_float, product_scale], node.output)

    def dequantized_matmul(self, node: NodeProto, weight: np.ndarray) -> None:
        """Write a float MatMul whose matrix is int8 in the file."""
        weight_int8, scale = int8_along(weight, axis=0)
        owner = self._owner(node)
        stored = self._constant(f"{owner}/weight", weight_int8)
        stored_scale = self._constant(f"{owner}/weight_scale", scale.reshape(-1))
        self._node("DequantizeLinear", [stored, stored_scale], [f"{node.name}/restored"], axis=1)
        self._node("MatMul", [node.input[0], f"{node.name}/restored"], node.output)

    def integer_lstm(self, node: NodeProto, weights: Sequence[np.ndarray]) -> None:
        """Write the operator that quantizes input and state as it runs.

        The weights of input and state are (directions, 4 L, K) each.
        """
        owner = self._owner(node)
        stored = []
        scales = []
        balanced = (weights[0] * self._balance[node.input[0]], weights[1])
        for name, weight in zip(("weight", "state_weight"), balanced, strict=True):
            # (directions, K, 4 L), (directions, 1, 4 L).
            weight_int8, scale = int8_for_products(weight.transpose(0, 2, 1))
            stored.append(self._constant(f"{owner}/{name}", weight_int8))
            scales.append(self._constant(f"{owner}/{name}_scale", scale[:, 0]))
            scales.append(self._constant(f"{owner}/{name}_zero_point", np.zeros(scale[:, 0].shape, np.int8)))
        other_inputs = [*node.input[3:], *[""] * (8 - len(node.input))]
        inputs = [self._balanced_input(node.input[0], owner), *stored, *other_inputs, *scales]
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        self._node("DynamicQuantizeLSTM", inputs, node.output, domain=RUNTIME_DOMAIN, **attributes)

    def dequantized_lstm(self, node: NodeProto, weights: Sequence[np.ndarray]) -> None:
        """Write a float LSTM whose matrices are int8 in the file, with a scale for each row."""
        owner = self._owner(node)
        restored = []
        for name, weight in zip(("weight", "state_weight"), weights, strict=True):
            rows, scale = int8_along(weight.reshape(-1, weight.shape[2]), axis=1)
            stored = self._constant(f"{owner}/{name}", rows)
            stored_scale = self._constant(f"{owner}/{name}_scale", scale.reshape(-1))
            flat = f"{node.name}/{name}_rows"
            restored.append(f"{node.name}/{name}_restored")
            self._node("DequantizeLinear", [stored, stored_scale], [flat], axis=0)
            shape = self._constant(f"{owner}/{name}_shape", np.array(weight.shape))
            self._node("Reshape", [flat, shape], restored[-1:])
        lstm = NodeProto()
        lstm.CopyFrom(node)
        lstm.input[1:3] = restored
        self.nodes.append(lstm)

    def gather(self, node: NodeProto, table: np.ndarray) -> None:
        """Gather int8 rows and their scales, then multiply."""
        rows, scale = int8_along(table, axis=1)
        parts = [f"{node.name}/{part}" for part in ("rows", "scales", "rows_float")]
        self._node("Gather", [self._constant(f"{node.name}/table", rows), node.input[1]], [parts[0]])
        self._node("Gather", [self._constant(f"{node.name}/table_scale", scale), node.input[1]], [parts[1]])
        self._node("Cast", [parts[0]], [parts[2]], to=TensorProto.FLOAT)
        self._node("Mul", [parts[2], parts[1]], node.output)


def check_structure(
    model: ModelProto, fp32: ModelProto, precision: str, words: Sequence[np.ndarray] = ()
) -> Structure:
    """Return the graph's structure for the manifest; ParityError when it is not what its precision promises.

    `words` are the matrices of integers of the embedding table.
    """

    def refuse(what: str, seen: object, wanted: object) -> None:
        raise ParityError(
            f"not a true {precision} graph: {what}: {seen}, wanted {wanted}; the exported file was not kept"
        )

    promised = PRECISIONS[precision]
    constants = large_constants(model)
    gathers = [node for node in model.graph.node if node.op_type == "Gather"]
    tables = {node.input[0] for node in gathers if node.input[1] == "input_ids"}
    if not any(name in constants for name in tables):
        refuse("the embedding table", "no table gathered by input_ids", "one")
    gathered = {node.input[0] for node in gathers}
    integers = [
        numpy_helper.to_array(t) for t in model.graph.initializer if t.name in gathered and is_finished(t)
    ]
    for matrix in words:
        if not any(np.array_equal(matrix, stored) for stored in integers):
            refuse(
                "the word embeddings",
                f"no integers {list(matrix.shape)} as they are wanted",
                "one such table",
            )
    type_name = TensorProto.DataType.Name
    wanted_type = TYPE_OF_BITS[promised.bits]
    for tensor in constants.values():
        is_words = words and tensor.name in tables and is_finished(tensor)
        if tensor.data_type != wanted_type and not is_words:
            seen, wanted = map(type_name, (tensor.data_type, wanted_type))
            refuse(f"{tensor.name} {list(tensor.dims)}", seen, wanted)
    operators, before = (Counter(node.op_type for node in graph.node) for graph in (model.graph, fp32.graph))
    n_linears = len(linear_nodes(fp32))
    n_lstms = before["LSTM"]
    if promised.quantized_activations:
        n_promised = {"MatMulInteger": n_linears, "DynamicQuantizeLSTM": n_lstms}
    elif wanted_type == TensorProto.INT8:
        # An LSTM has weights of its input and of its state.
        n_promised = {"DequantizeLinear": n_linears + 2 * n_lstms, "LSTM": n_lstms}
    else:  # products of activations count too; their number stays
        n_promised = {"MatMul": before["MatMul"], "LSTM": n_lstms}
    for operator, n in n_promised.items():
        if operators[operator] != n:
            refuse(f"{operator} nodes", operators[operator], n)
    constants = model.graph.initializer
    int8_bytes = sum(int(np.prod(t.dims)) for t in constants if t.data_type == TensorProto.INT8)
    return Structure(
        opset={opset.domain or "ai.onnx": opset.version for opset in model.opset_import},
        operators=dict(sorted(operators.items())),
        quantized_share_of_bytes=round(int8_bytes / sum(t.ByteSize() for t in constants), 4),
    )
