"""A .tflite model that is opened once, changed by passes, and written once.

A pass is a function that takes a `TFLiteFile` and changes it in place: export.tflite.passes.any_length,
export.tflite.passes.lookups, export.tflite.passes.compact.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qa.base.errors import OptionError

DATA_ALIGNMENT = 16  # of constants within a .tflite file: schema.fbs, force_align of Buffer.data
SCHEMA_VERSION = 3  # of a .tflite file
BUFFER_FIELDS = {"data", "offset", "size"}  # a buffer with other fields would lose them here
# Operators that have a weight, and its place among their inputs.
WEIGHT_INPUTS = {"FULLY_CONNECTED": 1, "EMBEDDING_LOOKUP": 1, "GATHER": 0}
# Versions of the operators that passes write; earlier ones take no int8 tensors.
VERSIONS = {"SPLIT": 2, "SQUEEZE": 1, "EMBEDDING_LOOKUP": 3, "DEQUANTIZE": 2, "MUL": 1}


@dataclass(frozen=True)
class Weight:
    """Constant matrix or table that an operator reads."""

    operator: str
    """Name of the operator, such as FULLY_CONNECTED."""
    output: str
    """Name of the operator's output; empty in a file without names."""
    buffer: int
    """Index of the constant; signatures share constants."""
    type: str
    """Type that is stored, such as INT8."""
    shape: tuple[int, ...]
    is_dequantized: bool
    """True where a DEQUANTIZE restores floats before the operator."""
    data: np.ndarray
    """Bytes of the constant, a view of the file."""

    @property
    def values(self) -> np.ndarray:
        """Numbers in their shape; int4 as int8, other types as a view of the file."""
        if self.type == "INT4":  # the first of two values is in the low bits
            packed = self.data.view(np.int8)
            pairs = np.stack([packed << 4 >> 4, packed >> 4], axis=1)
            return pairs.ravel()[: np.prod(self.shape)].reshape(self.shape)
        return self.data.view(np.dtype(self.type.lower())).reshape(self.shape)


class TFLiteFile:
    """A .tflite flatbuffer as objects of the schema."""

    def __init__(self, content: bytes) -> None:
        """Read a model; OptionError when its schema is not the one that `to_bytes` can write."""
        from ai_edge_litert import schema_py_generated as schema
        from ai_edge_litert.tools import flatbuffer_utils

        self.schema: Any = schema
        self.content = bytearray(content)
        """The model as it was read; constants are views of it."""
        self.tree = flatbuffer_utils.read_model_from_bytearray(self.content)
        fields = vars(schema.BufferT()).keys()
        if (self.tree.version, fields) != (SCHEMA_VERSION, BUFFER_FIELDS):
            raise OptionError(
                f"a .tflite of schema version {self.tree.version} with the buffer fields "
                f"{', '.join(fields)} cannot be written, only version {SCHEMA_VERSION} with "
                f"{', '.join(sorted(BUFFER_FIELDS))}; pip install 'pocketqa[export]'"
            )
        self.type_name = flatbuffer_utils.type_to_name
        n_codes = len(self.tree.operatorCodes)
        self.operator_names = [flatbuffer_utils.opcode_to_name(self.tree, code) for code in range(n_codes)]
        self.graphs = [TFLiteGraph(self, subgraph) for subgraph in self.tree.subgraphs]
        """Graph of each signature."""

    def copy(self) -> "TFLiteFile":
        """Return the model as it was read, with constants of its own."""
        return TFLiteFile(bytes(self.content))

    @property
    def signatures(self) -> list[str]:
        """Names of the signatures."""
        return [definition.signatureKey.decode() for definition in self.tree.signatureDefs]

    def weights(self) -> Iterator[Weight]:
        """Yield the weight of every operator that has one, signature by signature."""
        for graph in self.graphs:
            yield from graph.weights()

    def constant_bytes(self) -> Counter[str]:
        """Return the bytes of the constants that tensors use, each once, by type."""
        types = {tensor.buffer: tensor.type for graph in self.tree.subgraphs for tensor in graph.tensors}
        total = Counter[str]()
        for buffer, type_number in types.items():
            data = self.tree.buffers[buffer].data
            total[self.type_name(type_number)] += 0 if data is None else len(data)
        return total

    def operator_code(self, name: str) -> int:
        """Return the index of an operator of VERSIONS, in a version that takes int8."""
        if name not in self.operator_names:
            builtin = getattr(self.schema.BuiltinOperator, name)
            code = self.schema.OperatorCodeT()
            code.builtinCode = builtin
            code.deprecatedBuiltinCode = min(builtin, 127)
            code.version = 1
            self.tree.operatorCodes.append(code)
            self.operator_names.append(name)
        index = self.operator_names.index(name)
        code = self.tree.operatorCodes[index]
        code.version = max(code.version, VERSIONS[name])
        return index

    def keep_graph(self, graph: "TFLiteGraph", name: str) -> None:
        """Remove all signatures but that of a graph, call it `name`, and drop constants of others."""
        tree = self.tree
        (definition,) = [d for d in tree.signatureDefs if tree.subgraphs[d.subgraphIndex] is graph.subgraph]
        definition.subgraphIndex = 0
        definition.signatureKey = name.encode()
        tree.signatureDefs = [definition]
        tree.subgraphs = [graph.subgraph]
        tree.metadata = []
        self.graphs = [graph]
        buffers = tree.buffers
        tree.buffers = [buffers[0]]  # the empty one, of all computed tensors
        places = {0: 0}
        for tensor in graph.subgraph.tensors:
            if tensor.buffer not in places:
                places[tensor.buffer] = len(tree.buffers)
                tree.buffers.append(buffers[tensor.buffer])
            tensor.buffer = places[tensor.buffer]

    def to_bytes(self) -> bytes:
        """Write the model, its constants within the flatbuffer and aligned."""
        from ai_edge_litert.tools import flatbuffer_utils

        class AlignedBuffer(self.schema.BufferT):  # type: ignore[name-defined]
            """Writes its data aligned, which the generated Python code does not do."""

            def Pack(self, builder: Any) -> int:  # noqa: N802, the generated name
                data = b"" if self.data is None else bytes(self.data)
                if data:
                    builder.StartVector(1, len(data), DATA_ALIGNMENT)
                    builder.head -= len(data)
                    builder.Bytes[builder.head : builder.head + len(data)] = data
                    vector = builder.EndVector()
                schema.BufferStart(builder)
                if data:
                    schema.BufferAddData(builder, vector)
                return int(schema.BufferEnd(builder))

        schema = self.schema
        buffers = self.tree.buffers
        self.tree.buffers = [AlignedBuffer(**vars(buffer)) for buffer in buffers]
        try:
            return bytes(flatbuffer_utils.convert_object_to_bytearray(self.tree))
        finally:
            self.tree.buffers = buffers


class TFLiteGraph:
    """Graph of one signature. Tensors are numbered, operators are objects of the schema.

    A pass that rewrites the graph calls `clear`, then appends operators from first to last.
    """

    def __init__(self, file: TFLiteFile, subgraph: Any) -> None:
        self._file = file
        self.subgraph = subgraph
        """Object of the schema."""

    @property
    def inputs(self) -> list[int]:
        """Tensors that a caller fills."""
        return [int(tensor) for tensor in self.subgraph.inputs]

    @property
    def outputs(self) -> list[int]:
        """Tensors that a caller reads."""
        return [int(tensor) for tensor in self.subgraph.outputs]

    @property
    def operators(self) -> list[Any]:
        """Operators in the order in which they run."""
        return list(self.subgraph.operators)

    def clear(self) -> None:
        """Remove all operators."""
        self.subgraph.operators = []

    def append(self, operator: Any) -> None:
        """Add an operator after all others."""
        self.subgraph.operators.append(operator)

    def name(self, operator: Any) -> str:
        """Return an operator's name, such as FULLY_CONNECTED."""
        return self._file.operator_names[operator.opcodeIndex]

    def shape(self, tensor: int) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        return tuple(int(side) for side in self.subgraph.tensors[tensor].shape)

    def type_name(self, tensor: int) -> str:
        """Return the type of a tensor, such as FLOAT32."""
        return self._file.type_name(self.subgraph.tensors[tensor].type)

    def buffer(self, tensor: int) -> int:
        """Return the index of a tensor's constant; 0 for computed tensors."""
        return int(self.subgraph.tensors[tensor].buffer)

    def constant(self, tensor: int) -> np.ndarray | None:
        """Return a constant's bytes, uint8; None for computed tensors, inputs and omitted operands."""
        data = None if tensor < 0 else self._file.tree.buffers[self.subgraph.tensors[tensor].buffer].data
        return None if data is None else np.frombuffer(data, np.uint8)

    def integers(self, tensor: int) -> tuple[int, ...]:
        """Return an int32 constant's values."""
        data = self.constant(tensor)
        assert data is not None
        return tuple(int(value) for value in data.view(np.int32))

    def weights(self) -> Iterator[Weight]:
        """Yield the weight of every operator that has one, in order."""
        source = {o.outputs[0]: o.inputs[0] for o in self.operators if self.name(o) == "DEQUANTIZE"}
        for operator in self.operators:
            name = self.name(operator)
            if name in WEIGHT_INPUTS:
                read = operator.inputs[WEIGHT_INPUTS[name]]
                stored = source.get(read, read)
                data = self.constant(stored)
                if data is not None:  # attention with one head multiplies two activations
                    output = self.subgraph.tensors[operator.outputs[0]].name
                    yield Weight(
                        operator=name,
                        output=(output or b"").decode(),
                        buffer=self.buffer(stored),
                        type=self.type_name(stored),
                        shape=self.shape(stored),
                        is_dequantized=read in source,
                        data=data,
                    )

    def set_int8(self, tensor: int) -> None:
        """Make a tensor int8 with the scale 1 and the zero point 0."""
        schema = self._file.schema
        changed = self.subgraph.tensors[tensor]
        changed.type = schema.TensorType.INT8
        changed.quantization = schema.QuantizationParametersT(
            scale=np.ones(1, np.float32), zeroPoint=np.zeros(1, np.int64)
        )

    def scales(self, tensor: int) -> np.ndarray | None:
        """Return the scales of an int8 tensor, float32; None for other tensors."""
        return self.subgraph.tensors[tensor].quantization.scale if self.type_name(tensor) == "INT8" else None

    def new_tensor(self, shape: Sequence[int], buffer: int = 0, like: int | None = None) -> int:
        """Add a tensor, of floats or of another's type."""
        tensor = self._file.schema.TensorT()
        tensor.shape = np.array(shape, np.int32)
        tensor.hasRank = True
        tensor.name = f"added/{len(self.subgraph.tensors)}".encode()  # ai-edge-quantizer wants a name
        tensor.buffer = buffer
        types = self._file.schema.TensorType
        tensor.type = types.FLOAT32 if like is None else self.subgraph.tensors[like].type
        self.subgraph.tensors.append(tensor)
        return len(self.subgraph.tensors) - 1

    def new_constant(self, values: np.ndarray) -> int:
        """Add a constant of float32 or int32 values."""
        buffers = self._file.tree.buffers
        buffer = self._file.schema.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
        buffers.append(buffer)
        tensor = self.new_tensor(values.shape, len(buffers) - 1)
        self.subgraph.tensors[tensor].type = getattr(self._file.schema.TensorType, values.dtype.name.upper())
        return tensor

    def new_operator(self, name: str, inputs: Sequence[int], *outputs: int, **options: Any) -> int:
        """Append an operator with the schema's options; return its first output.

        The output is by default a new float tensor in the shape of the first input.
        """
        schema = self._file.schema
        operator = schema.OperatorT()
        operator.inputs = list(inputs)
        operator.outputs = list(outputs) or [self.new_tensor(self.shape(inputs[0]))]
        operator.opcodeIndex = self._file.operator_code(name)
        if options:
            table = f"{name.title()}Options"
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, table)
            operator.builtinOptions = getattr(schema, f"{table}T")()
            for option, value in options.items():
                setattr(operator.builtinOptions, option, value)
        self.append(operator)
        return int(operator.outputs[0])
