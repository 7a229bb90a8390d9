"""The logs of LiteRT's benchmark tool that several test files read, and a row made of one."""

from pathlib import Path
from types import SimpleNamespace

# Who printed what, and after which sources these were written, stands in the README beside them.
LOGS = Path(__file__).parent / "golden" / "benchmark_logs"
CURRENT = (LOGS / "current.log").read_text(encoding="utf-8")
N_BYTES, LOGGED_SIZE = 18_934_161, "18.9342"  # of the file in all of them, in MB of 1e6 bytes with six digits
ONE_RUN = CURRENT[: CURRENT.rindex("INFO: STARTING!")]
PIXEL = "Pixel 8, Android 16, Tensor G3"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def subject(name, size_bytes, folder="/runs"):
    """As much of a subject as its owner is found by."""
    return SimpleNamespace(facts={"model": name, "size_bytes": size_bytes}, bundle=SimpleNamespace(path=Path(folder, name)))


def phone_row(model="int8", ms=18.0, **more):
    """A row of a phone; None takes a key away."""
    values = {
        "model": model, "bundle_sha256": f"sha of {model}", "stage": "export", "precision": "int8",
        "runtime": "LiteRT benchmark_model + XNNPACK", "target": "phone", "machine": PIXEL,
        "threads": 1, "batch": 1, "lengths": 384, "size_bytes": 18_934_161,
        "latency_ms_p50": ms, "latency_ms_p95": ms + 1, "latency_ms_mean": ms + 0.5, "n_runs": 50,
        "command": "python benchmarks/compare.py", "date": "2026-01-01T00:00:00Z", "status": "ok",
    }  # fmt: skip
    return {key: value for key, value in (values | more).items() if value is not None}
