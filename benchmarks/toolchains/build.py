"""Build models with toolchains, each by its own environment's Python, and keep them for the next run."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.toolchains.prepare import EXIT_UNSUPPORTED
from benchmarks.toolchains.registry import Toolchain
from qa.base.errors import PocketQAError, UnsupportedExport
from qa.base.files import file_sha256, whole_folder
from qa.bundles.bundle import Bundle
from qa.runtime.remote import ROOT, complaint, exit_text

ENVIRONMENTS = ".venv-toolchains"
RECORD = "toolchain.json"
MODELS = ROOT / "qa" / "models"  # adapters trace them
TIMEOUT_S = 3600  # quantizing takes minutes


class ToolchainError(PocketQAError):
    """A toolchain is not installed or cannot build this model; the message names it and says why."""


@dataclass(frozen=True)
class Built:
    """A toolchain's model, for a worker of its Python to load."""

    path: Path
    python: Path
    versions: dict[str, str]
    """Versions of the packages that built it."""
    size_bytes: int
    """Size of its files that are not JSON: the weights, and the graph where it is a file of its own."""


def build(toolchain: Toolchain, bundle: Bundle, calibration: Path, folder: Path) -> Built:
    """Build `folder`/NAME, unless it was built of this bundle by this adapter and these versions.

    `calibration` is JSON: [[token ids, where the context begins], ...]. ToolchainError when it cannot be
    built, UnsupportedExport when the toolchain cannot express the model.
    """
    python = Path(sys.executable)
    if toolchain.environment is not None:
        environment = f"{ENVIRONMENTS}/{toolchain.environment}"
        python = ROOT / environment / "bin" / "python"
        if not python.is_file():
            raise ToolchainError(f"{toolchain.name}: {environment} does not exist; run make toolchains")
    versions = run_adapter(toolchain, python)
    source = bundle.path
    record: dict[str, Any] = {
        "toolchain": toolchain.name,
        "bundle_sha256": bundle.sha256,
        "adapter_sha256": file_sha256(ROOT / f"{toolchain.module.replace('.', '/')}.py"),
        "model_code_sha256": {
            str(path.relative_to(MODELS)): file_sha256(path) for path in sorted(MODELS.rglob("*.py"))
        },
        "versions": versions,
    }
    if toolchain.source is not None:
        built = build(toolchain.source, bundle, calibration, folder)
        source = built.path
        record["source_versions"] = built.versions
        record["source_sha256"] = file_sha256(built.path / RECORD)
    if toolchain.calibrated:
        record["calibration_sha256"] = file_sha256(calibration)
    path = folder / toolchain.name
    text = json.dumps(record, indent=1) + "\n"
    kept = path / RECORD
    if not kept.is_file() or kept.read_text(encoding="utf-8") != text:
        with whole_folder(path) as draft:
            paths = [str(each.absolute()) for each in (source, draft, calibration)]
            run_adapter(toolchain, python, *paths, toolchain.precision)
            (draft / RECORD).write_text(text, encoding="utf-8")
            shutil.rmtree(path, ignore_errors=True)
    size_bytes = sum(file.stat().st_size for file in path.iterdir() if file.suffix != ".json")
    return Built(path, python, versions | record.get("source_versions", {}), size_bytes)


def run_adapter(toolchain: Toolchain, python: Path, *arguments: str) -> dict[str, str]:
    """Run benchmarks/toolchains/prepare.py with the adapter in its environment; return its packages'
    versions.

    ToolchainError with the last line that it wrote when that fails, UnsupportedExport when it refuses the
    model.
    """
    command = [str(python), "-m", "benchmarks.toolchains.prepare", toolchain.module, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        took = f"took more than {TIMEOUT_S // 60:g} minutes and was ended"
        raise ToolchainError(f"{toolchain.name}: {took}") from None
    if done.returncode != 0:
        kind = UnsupportedExport if done.returncode == EXIT_UNSUPPORTED else ToolchainError
        raise kind(f"{toolchain.name}: {complaint(done.stderr) or exit_text(done.returncode)}")
    versions: dict[str, str] = json.loads(done.stdout.strip().splitlines()[-1])
    return versions
