"""What other tools make of a bundle, as subjects of a comparison."""

import tempfile
from pathlib import Path

from benchmarks.command_line import note
from benchmarks.peers.making import PeerError, make_peer
from benchmarks.peers.registry import PEERS
from benchmarks.subjects import Subject, sha256_of
from benchmarks.timing.latency import sample_windows
from benchmarks.timing.workers import Server
from benchmarks.windows_file import write_windows
from qa.cli import one_line
from qa.datasets import EMBEDDED, resolve
from qa.features import make_windows
from qa.squad import file_sha256, read_squad

FOLDER = Path("runs/peers")  # what was made once is taken again
CALIBRATION_WINDOWS = 128


def peer_subjects(student: Subject) -> list[Subject]:
    """A subject for each peer of a PyTorch bundle's subject; one that cannot be made has an error.

    Calibration sees training questions only.
    """
    bundle, subjects = student.bundle, []
    shared = {key: student.facts[key] for key in ("params", "params_without_embeddings", "command", "date")}
    with tempfile.TemporaryDirectory() as folder:
        windows = make_windows(read_squad(resolve(EMBEDDED, "train")), bundle.tokenizer(), bundle.settings)
        content = [(window.input_ids, window.context_begin) for window in sample_windows(windows, CALIBRATION_WINDOWS)]
        calibration = write_windows(Path(folder) / "calibration.npz", content, "")
        for peer in PEERS.values():
            name = f"{student.facts['model']}-{peer.name}"
            facts = shared | {
                "model": name, "bundle_sha256": sha256_of(peer.name, bundle.sha256), "parent_sha256": bundle.sha256,
                "stage": "peer", "precision": peer.precision, "peer": peer.name,
            }  # fmt: skip
            subject = Subject(bundle, facts)
            try:
                note(f"{name}: made, unless it is there already")
                made = make_peer(peer, bundle, calibration, FOLDER / bundle.sha256[:16])
            except PeerError as error:
                subject.error = one_line(error)
            else:
                paths = [path for path in sorted(made.path.rglob("*")) if path.is_file()]
                files = {str(path.relative_to(made.path)): file_sha256(path) for path in paths}
                facts |= {"versions": made.versions, "size_bytes": made.size_bytes}
                facts["bundle_sha256"] = sha256_of(peer.name, bundle.sha256, made.versions, files)
                subject.server = Server(peer.module, made.path, made.python)
            subjects.append(subject)
    return subjects
