"""PyTorch model -> fp32 ONNX graph."""

import io
import warnings
from typing import Any

import torch

from qa.base.errors import UnsupportedExport, first_line
from qa.formats.tensors import INPUTS, OUTPUTS
from qa.models.encoders import attention
from qa.models.model import QAModel

OPSET = 20  # the first in which GELU is one operator
AXES = {0: "batch", 1: "tokens"}


def trace(model: QAModel) -> Any:
    """Return the model as an fp32 onnx.ModelProto; inputs and outputs are (batch, tokens).

    UnsupportedExport when ONNX cannot express the model.

    Nothing is fused here: ONNX Runtime fuses when it loads a file, and does it better. A 6 x 384 model that
    onnxruntime.transformers had fused (BiasGelu, SkipLayerNormalization) took 1.15 times as long at 160 and
    384 tokens, in fp32 and in int8; MultiHeadAttention instead of plain attention changed 2 % at most. Heads
    and neurons that differ from layer to layer need nothing special either.
    """
    import onnx

    ids = torch.ones(2, 8, dtype=torch.long)
    sample = dict.fromkeys(INPUTS, ids)
    axes = dict.fromkeys((*INPUTS, *OUTPUTS), AXES)
    buffer: Any = io.BytesIO()  # the exporter takes one, though its types do not say so
    try:
        with attention(model.encoder, "eager"), warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of tracing Python values, and of this exporter's age
            # dynamo=False: the newer exporter's graph does not get its attention and LayerNorms fused.
            torch.onnx.export(
                model,
                (),
                buffer,
                kwargs=sample,
                input_names=list(INPUTS),
                output_names=list(OUTPUTS),
                dynamic_axes=axes,
                opset_version=OPSET,
                dynamo=False,
            )
    except RuntimeError as error:  # the base of the exporter's own errors
        raise UnsupportedExport(
            f"ONNX cannot express this model ({first_line(error)}); use the PyTorch bundle"
        ) from None
    return clean(onnx.load_from_string(buffer.getvalue()))


def clean(traced: Any) -> Any:
    """Give a traced graph all inputs, also those its encoder ignores, and drop facts of this machine."""
    from onnx import TensorProto, helper

    inputs = {value.name: value for value in traced.graph.input}
    for name in INPUTS:
        if name not in inputs:
            inputs[name] = helper.make_tensor_value_info(name, TensorProto.INT64, list(AXES.values()))
    del traced.graph.input[:], traced.graph.value_info[:]
    traced.graph.input.extend(inputs[name] for name in INPUTS)
    traced.graph.name = "pocketqa"
    skip_identities(traced.graph)
    for described in (traced, traced.graph, *traced.graph.node, *traced.graph.initializer):
        described.ClearField("doc_string")
    return traced


def skip_identities(graph: Any) -> None:
    """Let every node take its constants directly.

    The exporter stores equal constants once and passes them on by Identity.
    """
    outputs = {value.name for value in graph.output}
    source = dict[str, str]()
    nodes = []
    for node in graph.node:
        inputs = [source.get(name, name) for name in node.input]
        if node.op_type == "Identity" and node.output[0] not in outputs:
            source[node.output[0]] = inputs[0]
        else:
            node.input[:] = inputs
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
