"""ONNX Runtime as its own documentation quantizes a BERT.

The plain ONNX file goes through onnxruntime.transformers.optimizer for model type bert, with the fusion of
the embeddings left out, as its notebook on quantizing BERT does so that they can be quantized too; then
through quantize_dynamic with QInt8 weights. Session options are the defaults except the number of threads.
Batch 1: activations get one scale for a whole batch, so a batch would change answers.
"""

import json
from pathlib import Path
from typing import Any

from benchmarks.measure.worker import Model
from qa.base.errors import UnsupportedExport
from qa.formats.tensors import OUTPUTS, Inputs

PACKAGES = ("onnxruntime", "onnx")
LIBRARIES = ("onnxruntime",)
FILE = "model.onnx"


def prepare(source: Path, out: Path, calibration: Path, precision: str) -> None:
    """Fuse, quantize, save. UnsupportedExport when the model is no BERT."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config = config.get("pocketqa", config)  # ours, in the config.json of a model that opens in transformers
    encoder = config["encoder"]
    heads = set(config["heads_per_layer"])
    if encoder["model_type"] != "bert":
        raise UnsupportedExport(f"this recipe is for BERT, and this is a {encoder['model_type']}")
    options = FusionOptions("bert")
    options.enable_embed_layer_norm = False
    # 0 and 0 let the optimizer read the sizes off the graph: the way for pruned layers that differ.
    whole = heads == {encoder["num_attention_heads"]}
    sizes = (encoder["num_attention_heads"], encoder["hidden_size"]) if whole else (0, 0)
    fused = optimizer.optimize_model(str(source / FILE), "bert", *sizes, optimization_options=options)
    fused_path = out / "fused.onnx"
    fused.save_model_to_file(str(fused_path))
    # Without it the quantizer refuses fused operators, whose types it cannot infer; its error message says to
    # give it.
    extra = {"DefaultTensorType": TensorProto.FLOAT}
    quantize_dynamic(fused_path, out / FILE, weight_type=QuantType.QInt8, extra_options=extra)
    fused_path.unlink()


def load(path: Path, threads: int) -> Model:
    """Open a session on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path / FILE), options, providers=["CPUExecutionProvider"])

    def call(inputs: Inputs) -> Any:
        return session.run(OUTPUTS, inputs)

    return Model(("onnxruntime", onnxruntime.__version__, "as documented"), None, call)
