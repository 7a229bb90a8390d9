"""The client of `benchmarks/measure/worker.py`, which also times windows."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results.rows import Runtime
from qa.runtime.remote import RemoteRuntime

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
