"""The toolchains: for each its adapter, its environment, and what it starts from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Toolchain:
    """One toolchain at one precision."""

    name: str
    adapter: str
    """Module beside this one: `prepare(source, out, calibration, precision)`, `load(path, threads)`,
    PACKAGES, and LIBRARIES, which are imported before loading is timed. `prepare` raises UnsupportedExport
    for a model that the toolchain cannot express.
    """
    precision: str
    """fp32 or int8, as the toolchain means it."""
    environment: str | None = None
    """Folder under .venv-toolchains whose Python builds and serves it; None is the project's own environment.
    """
    source: "Toolchain | None" = None
    """Built first, for `prepare` to start from; None is the bundle."""
    calibrated: bool = False
    """True where `prepare` reads the calibration windows, so that other windows give another model."""

    @property
    def module(self) -> str:
        """Return the adapter's full name."""
        return f"benchmarks.toolchains.{self.adapter}"


# The source of the toolchains that read ONNX; not measured itself.
PLAIN_ONNX = Toolchain("plain-onnx", "plain_onnx", "fp32")

ENTRIES = (
    Toolchain("torch-compile", "torch_compile", "fp32"),
    Toolchain("torchao-int8", "torchao", "int8", "torchao"),
    Toolchain("openvino-fp32", "openvino", "fp32", "openvino", PLAIN_ONNX),
    Toolchain("openvino-int8", "openvino", "int8", "openvino", PLAIN_ONNX, calibrated=True),
    Toolchain("optimum-onnx-fp32", "optimum", "fp32", "optimum"),
    Toolchain("optimum-onnx-int8", "optimum", "int8", "optimum"),
    Toolchain("ort-documented-int8", "ort_documented", "int8", None, PLAIN_ONNX),
    Toolchain("litert-torch-fp32", "litert_torch", "fp32"),
    Toolchain("litert-torch-int8", "litert_torch", "int8"),
    Toolchain("executorch-fp32", "executorch", "fp32", "executorch"),
    Toolchain("executorch-int8", "executorch", "int8", "executorch"),
)
TOOLCHAINS = {toolchain.name: toolchain for toolchain in ENTRIES}
