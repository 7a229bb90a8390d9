"""A bundle on an NVIDIA GPU, as a worker loads it: PyTorch in fp32, fp16 or bf16, or ONNX Runtime.

A call begins and ends with arrays in the CPU's memory, so times include both copies and waiting for the GPU.
"""

from pathlib import Path

from benchmarks.measure.worker import Model, runtime_of
from qa.runtime.engines import OnnxRuntime
from qa.runtime.runtimes import TorchRuntime

# By name, as PyTorch calls them.
PRECISIONS = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
MAX_BATCH = 1024  # batches are computed at once; one that does not fit the memory is a failure


def import_libraries(path: Path) -> None:
    """Import what this format needs and wake the GPU, so that only loading is timed."""
    import torch

    torch.zeros(1, device="cuda")
    runtime_of(path).library()


def load(path: Path, threads: int, precision: str) -> Model:
    """Load weights on the first GPU. `precision` is for PyTorch; an ONNX file has its own."""
    if runtime_of(path) is TorchRuntime:
        return load_pytorch(path, threads, precision, "cuda")
    runtime = OnnxRuntime(path, threads, "CUDAExecutionProvider")
    package = (runtime.package, runtime.version, "CUDA")
    # ONNX Runtime does not tell how much of the GPU's memory it uses.
    return Model(package, None, runtime, MAX_BATCH, peak_memory_mb=lambda: None)


def load_pytorch(path: Path, threads: int, precision: str, device: str) -> Model:
    """Load PyTorch in a precision on a device; logits come back in fp32."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False  # fp32 as everywhere else
    torch.backends.cudnn.allow_tf32 = False
    runtime = TorchRuntime(path, threads, device)
    runtime.model.to(getattr(torch, PRECISIONS[precision]))
    package = (runtime.package, runtime.version, device.upper())
    return Model(package, None, runtime, MAX_BATCH, runtime.max_batch, peak_memory_mb)


def peak_memory_mb() -> float:
    """Return the peak of PyTorch's tensors in the GPU's memory since the last call, in MB (1e6 bytes)."""
    import torch

    peak = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    return round(peak / 1e6, 1)
