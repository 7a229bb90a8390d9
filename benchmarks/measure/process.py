"""The client of `benchmarks/measure/worker.py`: a remote runtime that also times windows."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results.rows import Runtime
from qa.runtime.remote import REPLY_TIMEOUT_S, Deployment, RemoteRuntime

WORKER = "benchmarks.measure.worker"
TokenWindow = tuple[list[int], int]  # token ids, position at which the context begins


class Worker(RemoteRuntime):
    """A process with one loaded model."""

    def __init__(
        self,
        deployment: Deployment,
        threads: int,
        cores: Sequence[int],
        timeout_s: float = REPLY_TIMEOUT_S,
    ) -> None:
        super().__init__(deployment, threads, cores, timeout_s)
        self.runtime = Runtime(*self.loaded["runtime"])
        self.max_batch = 1  # a dynamic int8 scale covers the whole batch, so a batch would change answers

    def time(self, windows: Sequence[TokenWindow], pad_to: int, batch: int, min_s: float) -> dict[str, Any]:
        """Time windows: times_ms (passes, batches), n_warmup, latency_ms_first and peak_memory_mb."""
        ids = [ids for ids, _ in windows]
        begins = [begin for _, begin in windows]
        return self.ask("time", ids=ids, context_begin=begins, pad_to=pad_to, batch=batch, min_s=min_s)

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has used so far; 0 where the system does not tell."""
        try:
            text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return 0.0
        fields = text.rpartition(")")[2].split()  # the name before it may contain anything
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime, proc(5)
