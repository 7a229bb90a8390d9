"""Hugging Face's optimum-onnx: its export, and its dynamic int8 for AVX512-VNNI, run by its own model class.

It exports transformers' models, so the bundle becomes a BertForQuestionAnswering: the encoder is the
bundle's, and the bundle's head takes the place of its one Linear, which `onnx_export_from_model` is
documented to allow. A head that sees more than each token's state does not fit there, and is refused. int8 is
AutoQuantizationConfig.avx512_vnni, dynamic, per tensor as the documentation's examples have it. Session
options are the defaults except the number of threads. int8 takes batches of 1: activations get one scale for
a whole batch, so a batch would change answers.
"""

import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure.worker import Model
from qa.base.errors import UnsupportedExport
from qa.formats.tensors import INPUTS, Inputs

PACKAGES = ("optimum-onnx", "optimum", "transformers", "torch", "onnx", "onnxruntime")
LIBRARIES = ("optimum.onnxruntime",)
FILES = {"fp32": "model.onnx", "int8": "model_quantized.onnx"}
MAX_BATCH = {"fp32": 32, "int8": 1}


def prepare(source: Path, out: Path, calibration: Path, precision: str) -> None:
    """Export, and quantize to int8 if asked to. UnsupportedExport when the model does not fit transformers'
    own class.
    """
    from optimum.exporters.onnx import onnx_export_from_model
    from optimum.onnxruntime import ORTQuantizer
    from optimum.onnxruntime.configuration import AutoQuantizationConfig

    exported = out if precision == "fp32" else out / "exported"
    onnx_export_from_model(question_answering_model(source), exported, task="question-answering")
    if precision == "int8":
        quantizer = ORTQuantizer.from_pretrained(exported, file_name=FILES["fp32"])
        recipe = AutoQuantizationConfig.avx512_vnni(is_static=False, per_channel=False)
        quantizer.quantize(save_dir=out, quantization_config=recipe)
        shutil.rmtree(exported)


def question_answering_model(source: Path) -> Any:
    """Return the bundle as a transformers BertForQuestionAnswering in eval mode."""
    from torch import Tensor, nn
    from transformers import BertForQuestionAnswering

    from qa.models.heads.mlp import FeedForwardHead, LinearHead
    from qa.models.model import QAModel

    class HeadOfStates(nn.Module):
        """A head that needs no masks, called as the Linear that it replaces."""

        def __init__(self, head: nn.Module) -> None:
            super().__init__()
            self.head = head

        def forward(self, states: Tensor) -> Tensor:
            """Compute logits: (B, T, H) -> (B, T, 2)."""
            return self.head(states, None, None)

    bundle = QAModel.from_pretrained(source)
    name = bundle.encoder.config.model_type
    if name != "bert":
        raise UnsupportedExport(f"this adapter fits a BERT encoder, and this is a {name}")
    if not isinstance(bundle.head, (LinearHead, FeedForwardHead)):
        known = "this adapter knows heads of LinearHead and FeedForwardHead only"
        raise UnsupportedExport(f"head {bundle.head_name!r}: {known}")
    model = BertForQuestionAnswering(bundle.encoder.config)
    layers: list[Any] = list(bundle.encoder.layers)
    for layer, parts in zip(layers, bundle.encoder.layer_parts(), strict=True):
        # This transformers takes the sizes of pruned layers from here, not from their Linears.
        attention = layer.attention.self
        attention.num_attention_heads = parts.n_heads
        attention.all_head_size = parts.n_heads * parts.head_size
    model.bert = bundle.encoder.model
    model.qa_outputs = HeadOfStates(bundle.head)
    return model.eval()


def load(path: Path, threads: int) -> Model:
    """Load by Optimum's own model class on ONNX Runtime."""
    import onnxruntime
    from optimum.onnxruntime import ORTModelForQuestionAnswering

    precision = "int8" if (path / FILES["int8"]).is_file() else "fp32"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    model = ORTModelForQuestionAnswering.from_pretrained(
        path, file_name=FILES[precision], session_options=options
    )

    def call(inputs: Inputs) -> Any:
        output = model(**{name: inputs[name] for name in INPUTS})
        return output.start_logits, output.end_logits

    runtime = ("optimum-onnx", version("optimum-onnx"), f"(onnxruntime {version('onnxruntime')})")
    return Model(runtime, None, call, MAX_BATCH[precision])
