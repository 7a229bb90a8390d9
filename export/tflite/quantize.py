"""fp32 .tflite -> fp16, int8, int8-weights or int4 (what each means: qa.formats.precision), written
compactly.

Weights are quantized by ai-edge-quantizer with plain min/max scales, for int4 after they were clipped; no
calibration data is needed.
"""

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from compress.scales import least_squares_bounds
from qa.base.errors import OptionError

DATA_ALIGNMENT = 16  # of constants within a .tflite file: schema.fbs, force_align of Buffer.data
SCHEMA_VERSION = 3  # of a .tflite file
BUFFER_FIELDS = {"data", "offset", "size"}  # a buffer with others would lose them here


def quantize(model: bytes, precision: str) -> bytes:
    """The weights of an fp32 .tflite stored as `precision`: fp16, int8, int8-weights or int4."""
    with quietly():
        try:
            from ai_edge_quantizer import algorithm_manager, qtyping, quantizer, recipe
        except ImportError:
            raise OptionError("--quantize needs ai-edge-quantizer: pip install 'pocketqa[export]'") from None
        prepared = bytearray(model)
        if precision == "int4":
            clip_for_int4(prepared)
        job = quantizer.Quantizer(prepared)
        if precision == "fp16":
            every_operator = qtyping.TFLOperationName.ALL_SUPPORTED
            cast = algorithm_manager.AlgorithmName.FLOAT_CASTING
            job.add_weight_only_config(".*", every_operator, num_bits=16, algorithm_key=cast)
        elif precision == "int8-weights":
            job.load_quantization_recipe(recipe.weight_only_wi8_afp32())
        else:
            job.load_quantization_recipe(recipe.dynamic_wi8_afp32())
        if precision == "int4":
            job.add_dynamic_config(".*", qtyping.TFLOperationName.FULLY_CONNECTED, num_bits=4)
        look_up = qtyping.TFLOperationName.EMBEDDING_LOOKUP
        no = algorithm_manager.AlgorithmName.NO_QUANTIZE
        for name in finished_look_ups(model):
            job.update_quantization_recipe(re.escape(name), look_up, algorithm_key=no)
        return bytes(job.quantize(enable_progress_bar=False, enable_progress_report=False).quantized_model)


def clip_for_int4(model: bytearray) -> None:
    """Clip the matrices of all Linears, in place, so that min/max scales of the result are those of least
    squared error.

    Positions and token types are small and stay int8: with every table in int4 a trained model lost 1.7 F1.
    """
    for weight in {buffer: weight for buffer, _, weight in _weights(model, "FULLY_CONNECTED")}.values():
        bounds = least_squares_bounds(weight, 4)
        np.clip(weight, -bounds, bounds, out=weight)


def finished_look_ups(model: bytes) -> list[str]:
    """Names of what is looked up in tables that stay as they are (export.embeddings): integers, and a column
    of their scales."""
    return [
        name
        for _, name, table in _weights(model, "EMBEDDING_LOOKUP")
        if table.dtype == np.int8 or table.shape[1] == 1
    ]


def _weights(model: bytes | bytearray, operator_name: str) -> Iterator[tuple[int, str, np.ndarray]]:
    """Of every operator of a kind: its weights' buffer, its output's name, and the weights, float or int8, in
    the model's bytes.

    Signatures share buffers.
    """
    from ai_edge_litert import schema_py_generated as schema

    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    wanted = getattr(schema.BuiltinOperator, operator_name)
    types = {schema.TensorType.FLOAT32: np.float32, schema.TensorType.INT8: np.int8}
    for graph in tree.subgraphs:
        for operator in graph.operators:
            if tree.operatorCodes[operator.opcodeIndex].builtinCode == wanted:
                weight = graph.tensors[operator.inputs[1]]
                data = tree.buffers[weight.buffer].data
                if data is not None:  # attention with one head multiplies two activations
                    values = data.view(types[weight.type]).reshape(weight.shape)
                    yield weight.buffer, graph.tensors[operator.outputs[0]].name.decode(), values


def compact(model: bytes) -> bytes:
    """The same .tflite model in fewer bytes; every number it computes stays as it is.

    Signatures share weights, but each has its own copy of their scales and zero points (12 bytes a row: 0.64
    MB for a BERT vocabulary and 6 layers of 384) and names its tensors after long module paths. Here tensors
    with equal scales refer to one table, and only inputs and outputs keep names: 7 % of an int8 file with
    three signatures. OptionError when the installed ai-edge-litert has another schema than these classes were
    written for.
    """
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.tools import flatbuffer_utils

    class AlignedBuffer(schema.BufferT):
        """Writes its data inside the flatbuffer and aligned, which the generated Python code does not do."""

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
            return schema.BufferEnd(builder)

    class SharedQuantization(schema.QuantizationParametersT):
        """Is written once, however many tensors refer to it."""

        written_at: int | None = None

        def Pack(self, builder: Any) -> int:  # noqa: N802, the generated name
            if self.written_at is None:
                self.written_at = super().Pack(builder)
            return self.written_at

    tree = flatbuffer_utils.read_model_from_bytearray(bytearray(model))
    fields = vars(schema.BufferT()).keys()
    if (tree.version, fields) != (SCHEMA_VERSION, BUFFER_FIELDS):
        raise OptionError(
            f"a .tflite of schema version {tree.version} with the buffer fields {', '.join(fields)} cannot "
            "be written: version "
            f"{SCHEMA_VERSION} with {', '.join(sorted(BUFFER_FIELDS))} is known; pip install "
            "'pocketqa[export]' has it"
        )
    tree.buffers = [AlignedBuffer(**vars(buffer)) for buffer in tree.buffers]
    shared: dict[bytes, Any] = {}
    for graph in tree.subgraphs:
        named = {*graph.inputs, *graph.outputs}
        for index, tensor in enumerate(graph.tensors):
            if index not in named:
                tensor.name = None
            if tensor.quantization is not None:
                # Equal when they serialize to the same bytes, whatever fields the schema has or gets.
                key = bytes(flatbuffer_utils.convert_object_to_bytearray(tensor.quantization))
                tensor.quantization = shared.setdefault(key, SharedQuantization(**vars(tensor.quantization)))
    return bytes(flatbuffer_utils.convert_object_to_bytearray(tree))


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep what converters print, C++ included, off the terminal; show it on stderr when the block fails."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as log:
        try:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            yield
        except OptionError:
            raise
        except Exception:
            log.seek(0)
            os.write(saved[1], log.read())
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, descriptor in zip((1, 2), saved, strict=True):
                os.dup2(descriptor, number)
                os.close(descriptor)
