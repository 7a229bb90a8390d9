"""Formats of bundles: one entry for each runtime, with its weights file, its loader and its names."""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

CONFIG = "config.json"
"""File that describes a PyTorch or ONNX model, as Hugging Face names it."""
ADAPTER = "adapter.safetensors"
"""File with what LoRA trained; with the encoder it makes the weights of a PyTorch model again."""
WHY_NOT_IN_TRANSFORMERS = "not_in_transformers"
"""Key of CONFIG: reason why transformers has no class for the model."""


@dataclass(frozen=True)
class Format:
    """Format of weights and the runtime that computes them."""

    name: str
    """Name in manifests."""
    weights: str
    """Weights file in the bundle."""
    loader: str
    """module:class of the `qa.runtime.runtimes.Runtime`; imported when it is needed."""
    runtime: str
    """Name of the runtime in cards, tables and plots."""
    package: str
    """Package of the runtime, as results name it."""
    library: str
    """Library name in model cards on a hub."""
    exported: bool = True
    """True for formats that are exported from PyTorch and so carry a probe."""

    @property
    def file(self) -> str:
        """Source file of the loader, relative to the project."""
        return self.loader.partition(":")[0].replace(".", "/") + ".py"

    def runtime_class(self) -> Any:
        """Import and return the class that `loader` names."""
        return resolve_name(self.loader)


ENTRIES = (
    Format(
        name="pytorch",
        weights="model.safetensors",
        loader="qa.runtime.runtimes:TorchRuntime",
        runtime="PyTorch",
        package="torch",
        library="pocketqa",
        exported=False,
    ),
    Format(
        name="onnx",
        weights="model.onnx",
        loader="qa.runtime.engines:OnnxRuntime",
        runtime="ONNX Runtime",
        package="onnxruntime",
        library="onnx",
    ),
    Format(
        name="tflite",
        weights="model.tflite",
        loader="qa.runtime.engines:LiteRTRuntime",
        runtime="LiteRT",
        package="ai-edge-litert",
        library="litert",
    ),
)
FORMATS = {format.name: format for format in ENTRIES}
