"""The logs of LiteRT's benchmark tool that several test files read."""

from pathlib import Path
from types import SimpleNamespace

from places import GOLDEN

# Who printed what, and after which sources these were written, stands in the README beside them.
LOGS = GOLDEN / "benchmark_logs"
CURRENT = (LOGS / "current.log").read_text(encoding="utf-8")
# of the file in all of them, in MB of 1e6 bytes with six digits
N_BYTES = 18_934_161
LOGGED_SIZE = "18.9342"
ONE_RUN = CURRENT[: CURRENT.rindex("INFO: STARTING!")]
FACTS = {"bundle_sha256": "s", "stage": "export", "precision": "int8"}
PIXEL = "Pixel 8, Android 16, Tensor G3"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def model(name, size_bytes, folder="/runs"):
    """As much of a model as its owner is found by."""
    facts = {"model": name, "size_bytes": size_bytes, **FACTS}
    return SimpleNamespace(name=name, metadata=facts, bundle=SimpleNamespace(path=Path(folder, name)))
