"""A comparison's bundles on this machine's GPU: each PyTorch bundle in three precisions, ONNX where its runtime has CUDA."""

import importlib
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.command_line import note
from benchmarks.rows import CUDA
from benchmarks.subjects import Subject, sha256_of
from benchmarks.timing.workers import Server
from qa.errors import OptionError

PRECISIONS = ("fp32", "fp16", "bf16")
ADAPTER = "benchmarks.targets.cuda_adapter"


def gpu_name() -> str:
    """The first GPU in one line. OptionError when PyTorch sees none."""
    import torch

    if not torch.cuda.is_available():
        raise OptionError(f"--target {CUDA}: PyTorch {torch.__version__} sees no NVIDIA GPU here; leave --target out")
    properties = torch.cuda.get_device_properties(0)
    return f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"


def onnx_has_cuda() -> bool:
    """Whether the ONNX Runtime that is installed computes on a GPU."""
    try:
        return "CUDAExecutionProvider" in importlib.import_module("onnxruntime").get_available_providers()
    except ImportError:
        return False


def cuda_subjects(subjects: Sequence[Subject]) -> list[Subject]:
    """What is measured of these bundles on a GPU. The subject of a PyTorch bundle is the one in fp32.

    OptionError when nothing is. Dynamic int8 is left out: its operators have kernels for the CPU alone.
    """
    found = []
    for subject in subjects:
        path = subject.bundle.path
        if subject.bundle.kind == "pytorch":
            subject.server = Server(ADAPTER, path, precision="fp32")
            found.append(subject)
            found += [_in(subject, precision) for precision in PRECISIONS[1:]]
        elif subject.bundle.kind == "onnx" and subject.bundle.precision in PRECISIONS and onnx_has_cuda():
            subject.server = Server(ADAPTER, path, precision=subject.bundle.precision)
            found.append(subject)
        else:
            note(f"{subject.facts['model']}: left out, nothing here computes {_kind(subject)} on a GPU")
    if not found:
        raise OptionError(f"--target {CUDA}: none of the bundles computes on a GPU; name a PyTorch bundle")
    return found


def _kind(subject: Subject) -> str:
    return f"{subject.bundle.precision} of {subject.bundle.kind}"


def _in(subject: Subject, precision: str) -> Subject:
    """A PyTorch bundle computed in another precision, which makes it another model."""
    facts = subject.facts | {
        "model": f"{subject.facts['model']}-{precision}", "precision": precision, "parent_sha256": subject.sha256,
        "bundle_sha256": sha256_of(subject.sha256, precision),
        "size_bytes": subject.facts["size_bytes"] // 2,  # two bytes a weight instead of four; nothing else changes
    }  # fmt: skip
    return replace(subject, facts=facts, server=Server(ADAPTER, subject.bundle.path, precision=precision))
