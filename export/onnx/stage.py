"""Options of `python -m export.onnx`."""

from dataclasses import dataclass

from export.options import ExportConfig, check_installed
from qa.base.errors import OptionError
from qa.bundles.bundle import Bundle
from qa.formats.precision import PRECISIONS

NEEDED_MODULES = ("onnx", "onnxruntime")


@dataclass(frozen=True)
class OnnxConfig(ExportConfig):
    """Export a PyTorch bundle to ONNX, for ONNX Runtime."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if "onnx" not in PRECISIONS[self.quantize].meaning:
            raise OptionError(
                f"--quantize {self.quantize} is for TFLite only: ONNX Runtime computes it more slowly than "
                "int8"
            )


def main(config: OnnxConfig) -> Bundle:
    """Trace, quantize, compare with PyTorch, seal."""
    check_installed("ONNX", NEEDED_MODULES)
    from export.onnx.exporter import OnnxExporter

    return OnnxExporter(config).export()
