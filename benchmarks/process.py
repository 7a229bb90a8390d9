"""Load time and peak memory of one bundle, measured in a process of its own and printed as one JSON object.

    python -m benchmarks.process runs/demo/student --threads 1

Load time is that of making the model ready, with its libraries imported and its file in the page cache. Peak memory is the
whole process's resident memory, Python and libraries included, once it has computed windows of full length.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from qa.bundle import Bundle, open_bundle
from qa.cli import check_option, run_command
from qa.errors import BundleError
from qa.runtimes import find_litert, load_runtime, run_length

CALLS = 2
TIMEOUT_S = 600


@dataclass(frozen=True)
class ProcessConfig:
    """What to load, and with how many threads."""

    model: tyro.conf.Positional[Path]
    """Bundle to load."""
    threads: int = 1
    """Threads of the runtime."""

    def __post_init__(self) -> None:
        check_option(self.threads >= 1, "--threads", self.threads, "at least 1")


def resident_mb(field: str) -> float | None:
    """VmRSS (now) or VmHWM (peak) of this process in MB, or None where the system does not tell.

    Not getrusage: its peak starts at that of the process that started this one.
    """
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.is_file() else []
    return next((1024 * int(line.split()[1]) / 1e6 for line in lines if line.startswith(f"{field}:")), None)


def import_libraries(kind: str) -> None:
    """Import what a kind of bundle needs, so that loading it is timed alone."""
    if kind == "pytorch":
        import qa.models.model  # noqa: F401
    elif kind == "onnx":
        import onnxruntime  # noqa: F401
    else:
        find_litert()


def measure(bundle: Bundle, threads: int) -> dict[str, float]:
    """Load the bundle in this process and compute full-length windows: load_ms, peak_memory_mb, memory_before_load_mb."""
    import_libraries(bundle.kind)
    before = resident_mb("VmRSS")
    began = time.perf_counter()
    runtime = load_runtime(bundle, threads, probe=False)
    load_ms = 1e3 * (time.perf_counter() - began)
    shape = (1, run_length(runtime, bundle.settings.max_length))
    for _ in range(CALLS):
        runtime({name: np.ones(shape, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")})
    found = {"load_ms": load_ms, "peak_memory_mb": resident_mb("VmHWM"), "memory_before_load_mb": before}
    return {key: round(value, 1) for key, value in found.items() if value is not None}


def measure_in_fresh_process(path: Path, threads: int) -> dict[str, float]:
    """What `measure` gives, from a new Python process; BundleError with its last line when that fails."""
    command = [sys.executable, "-m", "benchmarks.process", str(path), "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise BundleError(f"{path}: loading it in a process of its own failed ({last})")
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main(config: ProcessConfig) -> dict[str, Any]:
    """Measure and print."""
    result = measure(open_bundle(config.model), config.threads)
    print(json.dumps(result))
    return result


if __name__ == "__main__":
    run_command(ProcessConfig, main)
