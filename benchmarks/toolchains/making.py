"""Make peers' artefacts from a bundle, each by its own environment's Python, and keep them for the next
comparison."""

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.toolchains.registry import Peer
from qa.base.errors import PocketQAError
from qa.base.files import file_sha256
from qa.bundles.bundle import Bundle

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ".venv-peers"
RECORD = "peer.json"
TIMEOUT_S = 3600  # of making an artefact; quantizing takes minutes


class PeerError(PocketQAError):
    """A peer is not installed or cannot make this model; the message names the peer and says why."""


@dataclass(frozen=True)
class PreparedPeer:
    """One peer's artefact, ready to be loaded by a worker of its interpreter."""

    peer: Peer
    path: Path
    python: Path
    versions: dict[str, str]
    size_bytes: int
    """Of the artefact's files that are not JSON: weights, and the graph where it is a file of its own."""


def make_peer(peer: Peer, bundle: Bundle, calibration: Path, folder: Path) -> PreparedPeer:
    """Make `folder`/NAME, or take it again when it was made of this bundle by these versions.

    `calibration` is a windows file of some 128 real windows. PeerError in one line when the peer is not
    installed or fails.
    """
    python = interpreter(peer)
    versions = run_adapter(peer, python)
    source = bundle.path
    record: dict[str, Any] = {"peer": peer.name, "bundle_sha256": bundle.sha256, "versions": versions}
    if peer.source is not None:
        made = make_peer(peer.source, bundle, calibration, folder)
        source, record["source_versions"] = made.path, made.versions
    if peer.calibrated:
        record["calibration_sha256"] = file_sha256(calibration)
    path = folder / peer.name
    if read_record(path) != record:
        make(peer, python, source, calibration, path, record)
    size_bytes = sum(file.stat().st_size for file in path.iterdir() if file.suffix != ".json")
    return PreparedPeer(peer, path, python, versions | record.get("source_versions", {}), size_bytes)


def interpreter(peer: Peer) -> Path:
    """The Python that prepares and serves a peer; PeerError when its environment does not exist."""
    if peer.environment is None:
        return Path(sys.executable)
    python = ROOT / ENVIRONMENTS / peer.environment / "bin" / "python"
    if not python.is_file():
        raise PeerError(
            f"peers/{peer.environment}: its environment {ENVIRONMENTS}/{peer.environment} does not exist; "
            "run make peers"
        )
    return python


def make(
    peer: Peer, python: Path, source: Path, calibration: Path, path: Path, record: dict[str, Any]
) -> None:
    """Prepare in a neighbour folder and rename it to `path` when it is whole; an older artefact there gives
    way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.unfinished-", dir=path.parent) as neighbour:
        draft = Path(neighbour) / path.name
        run_adapter(
            peer, python, *(str(each.absolute()) for each in (source, draft, calibration)), peer.precision
        )
        (draft / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(path, ignore_errors=True)
        draft.rename(path)


def read_record(path: Path) -> Any:
    """What an artefact was made of; None where there is none."""
    try:
        return json.loads((path / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def run_adapter(peer: Peer, python: Path, *arguments: str) -> dict[str, str]:
    """Have the adapter of a peer make it of these, in its environment: the versions of its packages.

    PeerError with the last line when that fails.
    """
    command = [str(python), "-m", "benchmarks.toolchains.prepare", peer.module, *arguments]
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
        raise PeerError(
            f"peers/{peer.name}: took more than {TIMEOUT_S // 60} minutes and was ended"
        ) from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1].removeprefix(
            "error: "
        )
        raise PeerError(f"peers/{peer.name}: {last}")
    return dict(json.loads(done.stdout))
