"""A bundle of this project, as a worker loads it: through the very runtime that answers questions."""

from pathlib import Path

from benchmarks.latency.worker import Model
from qa.bundle import open_bundle
from qa.kinds import KINDS
from qa.runtimes import load_runtime


def import_libraries(path: Path) -> None:
    """Import what this kind of bundle needs, so that loading it is timed alone."""
    KINDS[open_bundle(path).kind].runtime_class().library()


def load(path: Path, threads: int) -> Model:
    """Load a bundle, unprobed: its answers were measured before its times."""
    runtime = load_runtime(open_bundle(path), threads, probe=False)
    lengths = list(runtime.lengths) if runtime.lengths else None
    return Model((runtime.package, runtime.version, ""), lengths, runtime, runtime.max_batch)
