"""Models on an NVIDIA GPU: PyTorch bundles in three precisions, ONNX bundles as they are."""

import importlib
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.measure.command_line import note
from benchmarks.measure.cuda_adapter import PRECISIONS
from benchmarks.measure.hosts import on_this_machine
from benchmarks.measure.models import sha256_of
from benchmarks.measure.run import ModelUnderTest
from benchmarks.results.rows import CUDA, Machine
from qa.base.errors import OptionError
from qa.models.model import QAModel


def gpu() -> Machine:
    """Describe the first GPU. OptionError when PyTorch sees none."""
    import torch

    if not torch.cuda.is_available():
        raise OptionError(
            f"--target {CUDA}: PyTorch {torch.__version__} sees no NVIDIA GPU here; leave --target out"
        )
    properties = torch.cuda.get_device_properties(0)
    return Machine(f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}")


def onnx_has_cuda() -> bool:
    """Return whether the installed ONNX Runtime computes on a GPU."""
    try:
        return "CUDAExecutionProvider" in importlib.import_module("onnxruntime").get_available_providers()
    except ImportError:
        return False


def gpu_models(models: Sequence[ModelUnderTest]) -> list[ModelUnderTest]:
    """Return what is measured of these bundles on a GPU. OptionError when nothing is.

    Dynamic int8 is left out: its operators have kernels for the CPU only.
    """
    on_gpu = []
    for model in models:
        bundle = model.bundle
        if bundle.format == "pytorch":
            half_bytes = _half_bytes(QAModel.from_pretrained(bundle.path))
            on_gpu.append(_in_precision(model, "fp32"))  # in whatever precision the weights are stored
            on_gpu += [_in_precision(model, half, half_bytes) for half in PRECISIONS if half != "fp32"]
        elif bundle.format == "onnx" and bundle.precision in PRECISIONS and onnx_has_cuda():
            on_gpu.append(_in_precision(model, bundle.precision))
        else:
            where = f"no runtime here computes {bundle.format} in {bundle.precision} on a GPU"
            note(f"{model.name}: skipped, {where}")
    if not on_gpu:
        raise OptionError(
            f"--target {CUDA}: none of the bundles can be computed on a GPU here; name a PyTorch bundle"
        )
    return on_gpu


def _in_precision(model: ModelUnderTest, precision: str, half_bytes: int | None = None) -> ModelUnderTest:
    """Return a bundle in a precision; in half precision it is another model, of that size."""
    deployment = on_this_machine(model.bundle.weights, "benchmarks.measure.cuda_adapter", precision=precision)
    metadata = dict(model.metadata)
    if half_bytes is not None:
        metadata |= {
            "model": f"{model.name}-{precision}",
            "precision": precision,
            "parent_sha256": model.sha256,
            "bundle_sha256": sha256_of(model.sha256, precision),
            "size_bytes": half_bytes,
        }
    return replace(model, metadata=metadata, deployment=deployment, in_process=False)


def _half_bytes(model: QAModel) -> int:
    """Return the size of the weights in half precision; codes of an embedding table keep their size."""
    codes = sum(buffer.nbytes for buffer in model.state_dict().values() if not buffer.is_floating_point())
    return 2 * sum(p.numel() for p in model.parameters()) + codes
