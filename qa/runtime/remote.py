"""A runtime in another process: the protocol, the client that starts the process, and the server that runs in
it.

A request is one line of JSON, {"do": NAME, ...}, on the server's stdin. The server answers it with one line
on its stdout. Arrays are part of the JSON, as numpy's npy in base64. A failure is {"error": LINE, "type":
CLASS}, and the end of the process. Every server answers two requests:

    {"do": "load", ...}
        -> {"runtime": [PACKAGE, VERSION, VARIANT], "lengths": [...] or null, "max_batch": N, ...}
    {"do": "compute", "inputs": {"input_ids": ARRAY, ...}}
        -> {"start_logits": ARRAY, "end_logits": ARRAY}

Benchmarks copy this file to boards: it takes any Python from 3.9 on with numpy.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from qa.base.errors import PocketQAError, first_line
from qa.formats.tensors import OUTPUTS, Inputs, Logits

ROOT = Path(__file__).parents[2]
REPLY_TIMEOUT_S = 1800.0  # torch.compile takes minutes to load a model, a window under QEMU up to one
ARRAY_KEY = "npy"


class RemoteError(PocketQAError):
    """A remote runtime failed; the message ends with the last line that its process wrote."""


class LostError(RemoteError):
    """The connection to the remote runtime is lost; the model itself may be fine."""


def encode(message: Mapping[str, Any]) -> bytes:
    """Write a message, which may contain arrays, as one line of JSON."""

    def pack(array: np.ndarray) -> dict[str, str]:
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        return {ARRAY_KEY: base64.b64encode(buffer.getvalue()).decode()}

    return json.dumps(message, default=pack).encode() + b"\n"


def decode(line: str | bytes) -> dict[str, Any]:
    """Read a message that `encode` wrote. ValueError when the line is no message."""

    def unpack(values: dict[str, Any]) -> Any:
        if values.keys() != {ARRAY_KEY}:
            return values
        return np.load(io.BytesIO(base64.b64decode(values[ARRAY_KEY])), allow_pickle=False)

    message = json.loads(line, object_hook=unpack)
    if not isinstance(message, dict):
        raise ValueError("not a JSON object")
    return message


# The server


def serve(answers: Mapping[str, Callable[..., Mapping[str, Any]]]) -> None:
    """Answer requests by name until stdin ends; after an error the process ends.

    Whatever libraries print goes to stderr.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the client too, which ends this process
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        for line in sys.stdin:
            request = decode(line)
            replies.write(encode(answers[request.pop("do")](**request)))
            replies.flush()
    except Exception as error:  # runtimes raise types of their own; the client gets one line, stderr the rest
        replies.write(encode({"error": first_line(error), "type": type(error).__name__}))
        replies.flush()
        raise


# The client


@dataclass(frozen=True)
class Deployment:
    """Command of a remote runtime, and the model that it loads."""

    start: tuple[str, ...]
    """Command of the server; its working directory is the project's folder."""
    load: Mapping[str, Any]
    """Arguments of the load request, without threads and cores."""
    target: str = ""
    """Name of a remote target; messages begin with it."""
    install: str = ""
    """Advice for installing a missing package on the target."""
    exit_when_lost: int | None = None
    """Exit code with which the command reports a lost connection; None where there is none."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables added to the environment of this process."""
    marks: Path | None = None
    """File into which an instruction counter writes."""

    def explain(self, text: str) -> str:
        """Add the target's name to a message, and how to install what is missing."""
        hint = f"; {self.install}" if self.install and "not installed" in text else ""
        return f"{self.target}: {text}{hint}" if self.target else text


class RemoteRuntime:
    """A model loaded in another process; a `qa.runtime.runtimes.Runtime`.

    Errors of the server that `qa.base.errors` defines are raised as they are, all others as RemoteError. A
    reply that takes longer than `timeout_s` ends the process.
    """

    def __init__(
        self,
        deployment: Deployment,
        threads: int,
        cores: Sequence[int] = (),
        timeout_s: float = REPLY_TIMEOUT_S,
    ) -> None:
        self._deployment = deployment
        self._timeout_s = timeout_s
        self._received = b""
        stderr = tempfile.TemporaryFile()  # noqa: SIM115, `close` closes it
        self._stderr = stderr
        try:
            self._process = subprocess.Popen(
                deployment.start,
                cwd=ROOT,
                env={**os.environ, **deployment.environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        except OSError:
            stderr.close()
            raise
        self.close = weakref.finalize(self, _end, self._process, stderr)
        """End the process."""
        self._interrupted = False
        self._loaded_by = os.getpid()
        try:
            self.loaded = self.ask("load", **deployment.load, threads=threads, cores=list(cores))
        except BaseException:
            self.close()
            raise
        package, version, variant = self.loaded["runtime"]
        self.package: str = package
        self.version: str = version
        self.name = " ".join(filter(None, (package, version, variant)))
        lengths = self.loaded["lengths"]
        self.lengths: tuple[int, ...] | None = None if lengths is None else tuple(lengths)
        self.max_batch: int = self.loaded["max_batch"]

    def __call__(self, inputs: Inputs) -> Logits:
        """Compute the logits of a batch, (B, T) each."""
        reply = self.ask("compute", inputs=inputs)
        return reply[OUTPUTS[0]], reply[OUTPUTS[1]]

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and return its reply."""
        assert self._process.stdin is not None
        if self._loaded_by != os.getpid():
            raise RemoteError("the model was loaded before this process was forked; load it in each process")
        if self._interrupted:
            text = "its process was ended with an interrupted request; load the model again"
            raise RemoteError(self._deployment.explain(text))
        if self._process.poll() is not None:
            raise self._ended()
        try:
            self._process.stdin.write(encode({"do": do, **arguments}))
            self._process.stdin.flush()
            line = self._line()
        except BrokenPipeError:
            raise self._ended() from None
        except BaseException:  # such as Ctrl-C; the next request must not read the reply to this one
            self._interrupted = self._process.poll() is None  # else it died by itself
            self._process.kill()
            self._process.wait()
            raise
        try:
            reply = decode(line)
        except ValueError:
            start = line[:80].decode(errors="replace").strip()
            raise RemoteError(
                self._deployment.explain(f"its process wrote {start!r} instead of a reply")
            ) from None
        if "error" in reply:
            known = {error.__name__: error for error in PocketQAError.__subclasses__()}
            raise known.get(reply["type"], RemoteError)(self._deployment.explain(reply["error"]))
        return reply

    def _line(self) -> bytes:
        """Read one line. RemoteError when it does not arrive in time or the process ends."""
        assert self._process.stdout is not None
        ends = time.monotonic() + self._timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._received:
                if not selector.select(max(0.0, ends - time.monotonic())):
                    text = f"its process did not answer within {self._timeout_s:g} seconds and was ended"
                    raise RemoteError(self._deployment.explain(text))
                more = os.read(self._process.stdout.fileno(), 1 << 20)
                if not more:  # after half a line too: it ended while it wrote
                    raise self._ended()
                self._received += more
        line, self._received = self._received.split(b"\n", 1)
        return line

    def _ended(self) -> PocketQAError:
        """Explain why the process ended without a reply."""
        try:
            code = self._process.wait(self._timeout_s)
        except subprocess.TimeoutExpired:
            return RemoteError(self._deployment.explain("its process closed its output and does not end"))
        self._stderr.seek(0)
        return self.ended(code, complaint(self._stderr.read().decode(errors="replace")))

    def ended(self, code: int, line: str) -> PocketQAError:
        """Return the error for a process that ended with this exit code after writing this line."""
        how = exit_text(code)
        if code == self._deployment.exit_when_lost:
            text = f"the connection was lost half-way ({how}: {line or how}); the same command goes on"
            return LostError(self._deployment.explain(text))
        return RemoteError(self._deployment.explain(line or f"its process ended ({how})"))


def _end(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
    process.kill()  # it has nothing to lose
    process.wait()
    for stream in (process.stdin, process.stdout, stderr):
        with contextlib.suppress(BrokenPipeError):  # the process ended with a request unread
            if stream is not None:
                stream.close()


def complaint(stderr: str) -> str:
    """Return the last line that begins with "error: ", else the last line, else nothing."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    marked = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (marked or lines or [""])[-1]


def exit_text(code: int) -> str:
    """Describe an exit code as `subprocess` gives it."""
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
