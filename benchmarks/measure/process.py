"""A worker's process, wherever it runs: started, asked over its stdin and stdout, ended; what it said when
something is wrong.

The other side is `benchmarks/measure/worker.py`; where it is started is a `Deployment`
(benchmarks/measure/hosts.py).
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results.rows import Runtime
from qa.base.errors import PocketQAError
from qa.formats.tensors import Inputs, Logits

ROOT = Path(__file__).parents[2]
WORKER = "benchmarks.measure.worker"
REPLY_TIMEOUT_S = (
    1800.0  # torch.compile takes minutes to load a model, a window under QEMU up to one, a turn seconds
)


class WorkerError(PocketQAError):
    """A worker failed; the message has its last line."""


class LostError(WorkerError):
    """The connection to where a worker runs is lost; nothing is known of its model."""


@dataclass(frozen=True)
class Deployment:
    """A model where a worker loads it, and how a worker is started there."""

    start: tuple[str, ...]
    """The words that start a worker, in the project's folder."""
    request: Mapping[str, Any]
    """To load the model, without threads and cores."""
    target: str = ""
    """In front of what a worker there says."""
    install: str = ""
    """How to install there what is missing."""
    exit_when_lost: int | None = None
    """The exit code by which the command tells that its connection is lost; None where there is none."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Beside that of this process."""
    marks: Path | None = None
    """The file into which a counter of instructions writes."""

    def explain(self, said: str) -> str:
        """A worker's last line, with the target's name and what to do about it."""
        hint = f"; {self.install}" if self.install and "not installed" in said else ""
        return f"{self.target}: {said}{hint}" if self.target else said


class Worker:
    """A process with one loaded model; WorkerError when it cannot load it, or does not answer in time."""

    def __init__(
        self, deployment: Deployment, threads: int, cores: Sequence[int], timeout_s: float = REPLY_TIMEOUT_S
    ) -> None:
        self._deployment = deployment
        self._timeout_s = timeout_s
        self._received = b""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115, close() closes it
        environment = {**os.environ, **deployment.environment}
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                deployment.start, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=self._stderr
            )
        except OSError:
            self._stderr.close()
            raise
        try:
            self.loaded = self._ask({**deployment.request, "threads": threads, "cores": list(cores)})
        except BaseException:
            self.close()
            raise
        self.runtime = Runtime(*self.loaded["runtime"])
        self.name = str(self.runtime)
        self.package = self.runtime.package
        self.version = self.runtime.version
        lengths = self.loaded["lengths"]
        self.lengths: tuple[int, ...] | None = None if lengths is None else tuple(lengths)
        self.max_batch = 1

    def __call__(self, inputs: Inputs) -> Logits:
        """Logits of a batch, (B, T) each: a worker is a runtime, and what it computes is scored as everything
        else is."""
        reply = self._ask({"compute": {name: array.tolist() for name, array in inputs.items()}})
        sides = (
            np.frombuffer(base64.b64decode(reply[name]), np.float32)
            for name in ("start_logits", "end_logits")
        )
        start, end = (side.reshape(inputs["input_ids"].shape) for side in sides)
        return start, end

    def time(
        self, windows: Sequence[tuple[list[int], int]], pad_to: int, batch: int, min_s: float
    ) -> dict[str, Any]:
        """Time windows (tokens, where the context begins): times_ms (passes, batches) and what else the
        worker tells."""
        ids = [ids for ids, _ in windows]
        begins = [begin for _, begin in windows]
        return self._ask(
            {
                "time": {"input_ids": ids, "context_begin": begins},
                "pad_to": pad_to,
                "batch": batch,
                "min_s": min_s,
            }
        )

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
        return WorkerError(
            self._deployment.explain(said if said != ended else f"its process ended ({ended})")
        )


def complaint(stderr: str, code: int) -> str:
    """The worker's own line of error, else the last line, else the exit code."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    own = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    ended = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return (own or lines or [ended])[-1]
