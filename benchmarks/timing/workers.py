"""Processes that serve one model each (`benchmarks/timing/serve.py`), seen from the one that asks them."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from qa.errors import PocketQAError
from qa.runtimes import Inputs, Logits

ROOT = Path(__file__).parents[2]


class WorkerError(PocketQAError):
    """A measuring process failed; the message has its last line."""


class LostError(WorkerError):
    """The connection to where a measuring process runs is lost; nothing is known of its model."""


class Servable(Protocol):
    """A model that a process can serve, on this machine or on another that a command reaches."""

    @property
    def exit_when_lost(self) -> int | None:
        """The exit code by which the command tells that its connection is lost; None where there is none."""
        ...

    def command(self, threads: int, cores: Sequence[int]) -> tuple[list[str], dict[str, str]]:
        """The words that start `benchmarks/timing/serve.py` with the model, and their environment."""
        ...

    def carry(self, path: Path) -> str:
        """Take a file to where the process is, and say how it finds it there."""
        ...


@dataclass(frozen=True)
class Server:
    """A model on this machine: an adapter module, the path it is given, and the Python that has its libraries."""

    adapter: str
    path: Path
    python: Path = Path(sys.executable)
    precision: str | None = None
    """For an adapter that computes one model in several."""
    exit_when_lost: ClassVar[None] = None

    def command(self, threads: int, cores: Sequence[int]) -> tuple[list[str], dict[str, str]]:
        """The words that start it, and their environment."""
        words = [str(self.python), "-m", "benchmarks.timing.serve", self.adapter, str(self.path.resolve())]
        words += ["--threads", str(threads), "--cores", *map(str, cores)]
        words += [] if self.precision is None else ["--precision", self.precision]
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        # OMP_NUM_THREADS: whatever a library starts at its import, it has no more threads than are measured.
        return words, os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": str(threads)}

    def carry(self, path: Path) -> str:
        """It reads this machine's files."""
        return str(path)


class Worker:
    """A process with one loaded model; WorkerError when it cannot load it. Requests are those of `benchmarks/timing/serve.py`."""

    def __init__(self, server: Servable, threads: int, cores: Sequence[int]) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115, close() closes it
        self._exit_when_lost = server.exit_when_lost
        words, environment = server.command(threads, cores)
        self._process = subprocess.Popen(
            words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, text=True,
            encoding="utf-8",
        )  # fmt: skip
        try:
            self.facts = self._reply()
        except BaseException:
            self.close()
            raise

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise self._ended() from None
        return self._reply()

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
                stream.close()

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):  # half a line too: it ended while it spoke
            raise self._ended()
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise WorkerError(reply["error"])
        return reply

    def _ended(self) -> WorkerError:
        """Why a process that said nothing has ended."""
        code = self._process.wait()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        ended = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        said = f": {lines[-1].strip()}" if lines else ""
        if code == self._exit_when_lost:
            return LostError(f"the connection was lost half-way ({ended}{said}); the same command goes on")
        return WorkerError(f"its process ended ({ended}){said}")


class ServedRuntime:
    """A worker as a runtime: what another environment computes is decoded and scored as everything else is."""

    max_batch = 1

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        lengths = worker.facts["lengths"]
        self.name: str = worker.facts["runtime"]
        self.lengths: tuple[int, ...] | None = None if lengths is None else tuple(lengths)

    def __call__(self, inputs: Inputs) -> Logits:
        """Logits of a batch, (B, T) each."""
        reply = self._worker.ask(call={name: array.tolist() for name, array in inputs.items()})
        return np.array(reply["start_logits"], np.float32), np.array(reply["end_logits"], np.float32)
