"""What runtimes and other tools are called in tables and plots."""

from collections.abc import Sequence

from benchmarks.rows import Row
from benchmarks.views.cells import UNKNOWN
from benchmarks.views.groups import Entry

# By the package, which is the first word of a row's runtime. The order is that of their colours.
RUNTIME_NAMES = {
    "torch": "PyTorch",
    "onnxruntime": "ONNX Runtime",
    "ai-edge-litert": "LiteRT",
    "openvino": "OpenVINO",
    "torchao": "torchao",
    "optimum-onnx": "Optimum ONNX",
}
SHORT_NAMES = RUNTIME_NAMES | {"onnxruntime": "ORT"}
TOOL_NAMES = {
    "torch-compile": "torch.compile",
    "openvino": "OpenVINO",
    "optimum-onnx": "Optimum ONNX",
    "ort-documented": "ORT docs",
}


def runtime_package(entry: Entry) -> str:
    """The package of an entry's runtime, without its version."""
    return str(entry.facts.get("runtime", UNKNOWN).split()[0])


def tool_name(facts: Row) -> str:
    """The tool that a peer's adapter is of: its name without the precision."""
    tool = str(facts["peer"]).removesuffix(f"-{facts['precision']}")
    return TOOL_NAMES.get(tool, tool)


def short_runtime_name(entry: Entry) -> str:
    """The runtime in a word, or the tool with "peer"."""
    if entry.is_peer:
        return f"{tool_name(entry.facts)} (peer)"
    return SHORT_NAMES.get(runtime_package(entry), runtime_package(entry))


def peer_notes(entries: Sequence[Entry]) -> list[str]:
    """What peers are, with the versions of their tools."""
    tools: dict[str, dict[str, str]] = {}
    for facts in (e.facts for e in entries if e.is_peer):
        tools.setdefault(tool_name(facts), {}).update(facts.get("versions", {}))
    named = []
    for tool, found in tools.items():
        versions = ", ".join(f"{package} {version}" for package, version in found.items())
        named.append(f"{tool} ({versions})" if versions else tool)
    return [f"peer: what another tool made of the same PyTorch model: {'; '.join(named)}"] if named else []
