"""The table of peers: for each, its adapter, its environment, and what it is made from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """One tool at one precision."""

    name: str
    module: str
    """Its adapter: `prepare(source, out, calibration, precision)`, `load(path, threads)`, and PACKAGES."""
    precision: str
    """fp32 or int8, as the tool means it."""
    environment: str | None = None
    """Folder under .venv-peers whose Python prepares and serves it; None is the project's own environment."""
    source: "Peer | None" = None
    """What is made first, in its own environment, for `prepare` to start from; None is the bundle."""
    calibrated: bool = False
    """Whether `prepare` reads the calibration windows, so that others make another artefact."""


# Not measured by itself: what the tools that read ONNX start from.
PLAIN_ONNX = Peer("plain-onnx", "benchmarks.toolchains.plain_onnx", "fp32")

_ALL = (
    Peer("torch-compile", "benchmarks.toolchains.torch_compile", "fp32"),
    Peer("torchao-int8", "benchmarks.toolchains.torchao", "int8", "torchao"),
    Peer("openvino-fp32", "benchmarks.toolchains.openvino", "fp32", "openvino", PLAIN_ONNX),
    Peer("openvino-int8", "benchmarks.toolchains.openvino", "int8", "openvino", PLAIN_ONNX, calibrated=True),
    Peer("optimum-onnx-fp32", "benchmarks.toolchains.optimum", "fp32", "optimum"),
    Peer("optimum-onnx-int8", "benchmarks.toolchains.optimum", "int8", "optimum"),
    Peer("ort-documented-int8", "benchmarks.toolchains.ort_documented", "int8", None, PLAIN_ONNX),
    Peer("litert-torch-fp32", "benchmarks.toolchains.litert_torch", "fp32"),
    Peer("executorch-fp32", "benchmarks.toolchains.executorch", "fp32", "executorch"),
    Peer("executorch-int8", "benchmarks.toolchains.executorch", "int8", "executorch"),
)
PEERS = {peer.name: peer for peer in _ALL}
