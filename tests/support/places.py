"""Paths in the checkout, and files that the processes of a test run share."""

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
SAMPLES = TESTS / "samples"
SUPPORT = TESTS / "support"
PACKAGES = ("pocketqa", "qa", "distill", "compress", "export", "benchmarks")


def sources():
    """Every Python file of the product."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def shared_folder(tmp_path_factory):
    """A folder that is the same in all processes of a run, and in all runs of .ci/run."""
    own = tmp_path_factory.getbasetemp()
    return Path(
        os.environ.get("SHARED_TEST_FILES") or (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)
    )


@contextmanager
def alone(path):
    """Let one process at a time into the block; `path` is a file that only marks it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
