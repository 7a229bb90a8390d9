"""Other processes: the client of `benchmarks/measure/worker.py`, which also times windows; and commands that
print JSON.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results.rows import Runtime
from qa.runtime.remote import RemoteError, RemoteRuntime, complaint, exit_text

WORKER = "benchmarks.measure.worker"
TokenWindow = tuple[list[int], int]  # token ids, position at which the context begins


class Worker(RemoteRuntime):
    """A process with one loaded model."""

    @property
    def runtime(self) -> Runtime:
        """Return the runtime that computes the model."""
        return Runtime(*self.loaded["runtime"])

    def time(self, windows: Sequence[TokenWindow], pad_to: int, batch: int, min_s: float) -> dict[str, Any]:
        """Time windows: times_ms (passes, batches), n_warmup, latency_ms_first and peak_memory_mb."""
        ids, begins = zip(*windows, strict=True)
        return self.ask("time", ids=ids, context_begin=begins, pad_to=pad_to, batch=batch, min_s=min_s)

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has used so far; 0 where the system does not tell."""
        try:
            text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return 0.0
        fields = text.rpartition(")")[2].split()  # the name before it may contain anything
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime, proc(5)


def run_json(command: Sequence[str], timeout_s: float, **options: Any) -> Any:
    """Run a command and return the JSON of the last line that it prints; `options` are those of subprocess.

    RemoteError with the line that says what went wrong when the command fails, or takes longer than
    `timeout_s`.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            **options,
        )
    except subprocess.TimeoutExpired:
        raise RemoteError(f"took more than {timeout_s // 60:g} minutes and was ended") from None
    if done.returncode != 0:
        raise RemoteError(complaint(done.stderr) or exit_text(done.returncode))
    return json.loads(done.stdout.strip().splitlines()[-1])
