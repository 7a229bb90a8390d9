"""Options and steps of `python -m export.onnx`."""

import importlib.util
import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from export.calibration import calibration_windows
from export.embeddings import bytes_saved, word_tables
from export.exporter import ExportConfig, export_bundle
from qa.base.errors import OptionError, UnsupportedExport
from qa.bundles.bundle import Bundle
from qa.formats.precision import OF_FLAG
from qa.formats.registry import KINDS
from qa.formats.tensors import INPUTS, OUTPUTS
from qa.models.encoders import attention
from qa.models.hub import hub_config
from qa.models.model import QAModel, write_config
from qa.text.settings import QASettings

OPSET = 20  # the first in which GELU is one operator
AXES = {0: "batch", 1: "tokens"}
NEEDED_MODULES = ("onnx", "onnxruntime")
CALIBRATION_WINDOWS = 16


@dataclass(frozen=True)
class OnnxConfig(ExportConfig):
    """Export a PyTorch bundle to ONNX, for ONNX Runtime."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if "onnx" not in OF_FLAG[self.quantize].meaning:
            raise OptionError(
                f"--quantize {self.quantize} is for TFLite alone: ONNX Runtime computes it more slowly than "
                "int8"
            )


def trace(model: QAModel) -> Any:
    """The model as an fp32 onnx.ModelProto, its inputs and outputs (batch, tokens). UnsupportedExport when it
    has no such form.

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
        reason = str(error).strip().splitlines()[0]
        raise UnsupportedExport(
            f"ONNX cannot express this model ({reason}); use the PyTorch bundle"
        ) from None
    return clean(onnx.load_from_string(buffer.getvalue()))


def clean(traced: Any) -> Any:
    """Give a traced graph all inputs, also those its encoder ignores, and drop what tells of the machine that
    traced it."""
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
    """Let every node take its constants directly: the exporter stores equal ones once and hands them on by
    Identity."""
    outputs = {value.name for value in graph.output}
    source = dict[str, str]()
    kept = []
    for node in graph.node:
        inputs = [source.get(name, name) for name in node.input]
        if node.op_type == "Identity" and node.output[0] not in outputs:
            source[node.output[0]] = inputs[0]
        else:
            node.input[:] = inputs
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)


def write_file(model: QAModel, parent: Bundle, draft: Path, precision: str) -> dict[str, Any]:
    """Write model.onnx in a precision; what it is made of. ParityError when the graph is not what the
    precision promises.

    Beside it goes the config.json by which transformers' relatives choose a class; of a whole model they have
    none.
    """
    import onnx

    from export.onnx.quantize import check_structure, quantize

    fp32 = trace(model)
    graph = quantize(
        fp32, precision, calibration_windows(parent, CALIBRATION_WINDOWS) if precision == "int8" else ()
    )
    words = model.encoder.words
    integers = [table.numpy() for table in word_tables(words) if table.dtype == torch.int8]
    structure = check_structure(graph, fp32, precision, integers, bytes_saved(words))
    onnx.helper.set_model_props(graph, {"pocketqa.precision": precision})
    onnx.checker.check_model(graph)
    (draft / KINDS["onnx"].weights).write_bytes(graph.SerializeToString(deterministic=True))
    if model.encoder.architecture.question_answering:
        write_config(draft, hub_config(model.encoder.config))
    return structure


def probe_sizes(settings: QASettings) -> list[int]:
    """The tokens of the probe's windows: one graph takes any, up to the model's longest."""
    return [settings.max_length // 4, settings.max_length // 2, settings.max_length]


def main(config: OnnxConfig) -> Bundle:
    """Export one bundle to ONNX; the new bundle."""
    missing = [name for name in NEEDED_MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise OptionError(f"export to ONNX needs {' and '.join(missing)}: pip install 'pocketqa[export]'")
    return export_bundle(config, "onnx", write_file, probe_sizes)
