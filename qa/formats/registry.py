"""Kinds of bundles: one entry for each runtime, with what its weights are called, what loads them and how
tables name it."""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

CONFIG = "config.json"
"""File that describes a PyTorch or ONNX model, as Hugging Face names it."""
WHY_NOT_IN_TRANSFORMERS = "not_in_transformers"
"""Key of CONFIG: the reason why transformers has no class for the model."""


@dataclass(frozen=True)
class Format:
    """A kind of weights and the runtime that computes them."""

    name: str
    """In manifests."""
    weights: str
    """File in the bundle."""
    loader: str
    """module:class of `qa.runtime.runtimes.Runtime`; imported when it is needed."""
    runtime: str
    """In cards, tables and plots."""
    package: str
    """That computes it, as results name it."""
    library: str
    """As model cards on a hub name it."""
    exported: bool = True
    """Whether it is made of a PyTorch bundle, and so carries a probe."""

    @property
    def file(self) -> str:
        """The file of the project that its loader is in."""
        return self.loader.partition(":")[0].replace(".", "/") + ".py"

    def runtime_class(self) -> Any:
        """What `loader` names."""
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
