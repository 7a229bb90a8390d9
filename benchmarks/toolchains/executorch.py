"""ExecuTorch on XNNPACK, as its documentation exports a model: torch.export, XnnpackPartitioner, a .pte file
run by its runtime.

int8 is XNNPACKQuantizer's dynamic recipe: every Linear has int8 weights, one scale for each output channel,
and int8 activations, one scale for each token; the embeddings stay fp32. Shapes are dynamic, up to the
model's longest window, so windows are computed unpadded. Batch 1: ExecuTorch plans memory ahead for the
largest shape. Attention is transformers' "eager": "sdpa" adds operators that XNNPACK does not take. The
Python bindings take PyTorch's tensors, so loading and peak memory have PyTorch in them.
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure.worker import Model
from qa.formats.tensors import INPUTS, Inputs

PACKAGES = ("executorch", "torchao", "torch", "transformers")
LIBRARIES = ("executorch.runtime",)
FILE = "model.pte"


def prepare(source: Path, out: Path, calibration: Path, precision: str) -> None:
    """Export, quantize to int8 if asked to, lower to XNNPACK, and save."""
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from qa.models.model import QAModel

    length = json.loads((source / "qa.json").read_text(encoding="utf-8"))["max_length"]
    # A tensor for each input: one given twice may be traced as one input.
    samples = tuple(torch.ones(1, length, dtype=torch.long) for _ in INPUTS)
    shapes = ({1: torch.export.Dim("tokens", max=length)},) * len(INPUTS)
    model = QAModel.from_pretrained(source)
    model.encoder.set_attention("eager")
    program = torch.export.export(model, samples, dynamic_shapes=shapes)
    if precision == "int8":
        quantizer = XNNPACKQuantizer().set_global(
            get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
        )
        prepared = prepare_pt2e(program.module(), quantizer)
        prepared(*samples)  # only finds the scales of the weights, so any tokens do
        program = torch.export.export(convert_pt2e(prepared), samples, dynamic_shapes=shapes)
    to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().save(
        str(out / FILE)
    )


def load(path: Path, threads: int) -> Model:
    """Load the program's only method and set the size of the process's thread pool."""
    import torch
    from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
    from executorch.runtime import Runtime

    _unsafe_reset_threadpool(threads)  # the bindings have no other way; unsafe while something runs
    method = Runtime.get().load_program(path / FILE).load_method("forward")

    def call(inputs: Inputs) -> Any:
        start, end = method.execute([torch.from_numpy(inputs[name]) for name in INPUTS])
        return start.numpy(), end.numpy()

    return Model(("executorch", version("executorch"), "XNNPACK"), None, call)
