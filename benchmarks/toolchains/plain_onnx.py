"""The fp32 model as PyTorch's own documentation exports it: torch.onnx.export with named dynamic axes, and
nothing done to it.

What OpenVINO and ONNX Runtime's documented quantization start from. The exporter is the one that takes
`dynamic_axes`, which those documents use. Attention is transformers' "eager", as at the time of those
documents: it traces to the plain operators that both optimizers know.
"""

import shutil
from pathlib import Path

from qa.formats.tensors import INPUTS, OUTPUTS

PACKAGES = ("torch", "transformers", "onnx")
AXES = {0: "batch", 1: "tokens"}
OPSET = 17


def prepare(source: Path, out: Path, calibration: Path, precision: str) -> None:
    """Write model.onnx, its inputs and outputs (batch, tokens), and the bundle's config.json beside it."""
    import torch

    from qa.models.model import CONFIG, QAModel

    model = QAModel.from_pretrained(source)
    model.encoder.set_attention("eager")
    ids = torch.ones(2, 8, dtype=torch.long)
    with torch.no_grad():
        torch.onnx.export(
            model,
            (ids, ids, ids),
            str(out / "model.onnx"),
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_axes=dict.fromkeys((*INPUTS, *OUTPUTS), AXES),
            opset_version=OPSET,
            dynamo=False,
        )
    shutil.copy(source / CONFIG, out / CONFIG)
