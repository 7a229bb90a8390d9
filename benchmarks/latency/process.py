"""A worker's process, wherever it runs: started, asked over its stdin and stdout, ended; what it said when something is wrong.

The other side is `benchmarks/latency/worker.py`; where it is started is a `Deployment` (benchmarks/latency/hosts.py).
"""

import base64
import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.results import Runtime
from qa.errors import PocketQAError
from qa.runtimes import Inputs, Logits

REPLY_TIMEOUT_S = 1800.0  # torch.compile takes minutes to load a model, a window under QEMU up to one, a turn seconds


class WorkerError(PocketQAError):
    """A worker failed; the message has its last line."""


class LostError(WorkerError):
    """The connection to where a worker runs is lost; nothing is known of its model."""


class Deployment(Protocol):
    """A model where a worker loads it."""

    @property
    def exit_when_lost(self) -> int | None:
        """The exit code by which the command tells that its connection is lost; None where there is none."""
        ...

    def command(self, threads: int) -> tuple[list[str], dict[str, str]]:
        """The words that start a worker there, and their environment."""
        ...

    def load(self) -> dict[str, Any]:
        """The request to load it, without threads and cores."""
        ...

    def explain(self, said: str) -> str:
        """A worker's last line, with what to do about it."""
        ...


class Worker:
    """A process with one loaded model; WorkerError when it cannot load it, or does not answer in time."""

    def __init__(
        self, deployment: Deployment, threads: int, cores: Sequence[int], timeout_s: float = REPLY_TIMEOUT_S
    ) -> None:
        self._deployment, self._timeout_s, self._received = deployment, timeout_s, b""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115, close() closes it
        words, environment = deployment.command(threads)
        try:
            self._process = subprocess.Popen(
                words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr
            )
        except OSError:
            self._stderr.close()
            raise
        try:
            self.facts = self._ask(deployment.load() | {"threads": threads, "cores": list(cores)})
        except BaseException:
            self.close()
            raise
        self.runtime = Runtime(*self.facts["runtime"])
        self.name, self.package, self.version = str(self.runtime), self.runtime.package, self.runtime.version
        lengths = self.facts["lengths"]
        self.lengths: tuple[int, ...] | None = None if lengths is None else tuple(lengths)
        self.max_batch = 1

    def __call__(self, inputs: Inputs) -> Logits:
        """Logits of a batch, (B, T) each: a worker is a runtime, and what it computes is scored as everything else is."""
        reply = self._ask({"compute": {name: array.tolist() for name, array in inputs.items()}})
        sides = (np.frombuffer(base64.b64decode(reply[name]), np.float32) for name in ("start_logits", "end_logits"))
        start, end = (side.reshape(inputs["input_ids"].shape) for side in sides)
        return start, end

    def time(self, windows: Sequence[tuple[list[int], int]], pad_to: int, batch: int, min_s: float) -> dict[str, Any]:
        """Time windows (tokens, where the context begins): times_ms (passes, batches) and what else the worker tells."""
        ids, begins = [ids for ids, _ in windows], [begin for _, begin in windows]
        return self._ask({"time": {"input_ids": ids, "context_begin": begins}, "pad_to": pad_to, "batch": batch, "min_s": min_s})

    def cpu_seconds(self) -> float:
        """CPU time this process has used so far; 0 where the system does not tell."""
        try:
            text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return 0.0
        fields = text.rpartition(")")[2].split()  # the name before it may hold anything
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime, proc(5)

    def close(self) -> None:
        """End the process."""
        self._process.kill()  # it has nothing to lose
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        line = self._line()
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise WorkerError(self._deployment.explain(reply["error"]))
        return reply

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        ends = time.monotonic() + self._timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._received:
                if not selector.select(max(0.0, ends - time.monotonic())):
                    said = f"its process did not answer within {self._timeout_s:g} seconds and was ended"
                    raise WorkerError(self._deployment.explain(said))
                more = os.read(self._process.stdout.fileno(), 1 << 20)
                if not more:  # half a line too: it ended while it spoke
                    raise self._ended()
                self._received += more
        line, self._received = self._received.split(b"\n", 1)
        return line

    def _ended(self) -> WorkerError:
        """Why a process that said nothing has ended."""
        try:
            code = self._process.wait(self._timeout_s)
        except subprocess.TimeoutExpired:
            return WorkerError(self._deployment.explain("its process closed its output and does not end"))
        self._stderr.seek(0)
        said = complaint(self._stderr.read().decode(errors="replace"), code)
        ended = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        if code == self._deployment.exit_when_lost:
            lost = f"the connection was lost half-way ({ended}: {said}); the same command goes on"
            return LostError(self._deployment.explain(lost))
        return WorkerError(self._deployment.explain(said if said != ended else f"its process ended ({ended})"))


def complaint(stderr: str, code: int) -> str:
    """The worker's own line of error, else the last line, else the exit code."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    own = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    ended = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return (own or lines or [ended])[-1]
