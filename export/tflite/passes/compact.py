"""Pass that makes a .tflite smaller and changes no number it computes.

Signatures share weights, but each has its own copy of their scales and zero points: 12 bytes for an output
of a Linear. Each also names its tensors after long module paths. Tensors with equal scales refer to one
table here, and only inputs and outputs keep names.
"""

from typing import Any

from export.tflite.file import TFLiteFile


def compact(file: TFLiteFile) -> None:
    """Share equal scales, and drop the names of inner tensors."""
    from ai_edge_litert.tools import flatbuffer_utils

    class SharedQuantization(file.schema.QuantizationParametersT):  # type: ignore[name-defined]
        """Is written once, however many tensors refer to it."""

        written_at: int | None = None

        def Pack(self, builder: Any) -> int:  # noqa: N802, the generated name
            if self.written_at is None:
                self.written_at = super().Pack(builder)
            return self.written_at

    shared: dict[bytes, Any] = {}
    for subgraph in file.tree.subgraphs:
        named = {*subgraph.inputs, *subgraph.outputs}
        for index, tensor in enumerate(subgraph.tensors):
            if index not in named:
                tensor.name = None
            if tensor.quantization is not None:
                # Equal when they serialize to the same bytes, whatever fields the schema has or gets.
                key = bytes(flatbuffer_utils.convert_object_to_bytearray(tensor.quantization))
                tensor.quantization = shared.setdefault(key, SharedQuantization(**vars(tensor.quantization)))
