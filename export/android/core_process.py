"""The Android app's Java core as a process on this machine: it reads a model file as a phone does.

The core asks for each window's logits through the pipe, so the core decides what is computed.
android_demo/core/src/tools/java/org/pocketqa/tools/CoreServer.java is the other side and has the same
letters.
"""

import os
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from qa.base.errors import BundleError, OptionError, ParityError
from qa.formats.tensors import INPUTS
from qa.formats.tflite import signature_length
from qa.runtime.runtimes import Runtime
from qa.text.answers import Candidate, Prediction

SOURCES = Path(__file__).parents[2] / "android_demo" / "core" / "src"
UTF8 = {**os.environ, "LC_ALL": "C.UTF-8"}  # else Java cannot open a path that the locale cannot spell
MAIN_CLASS = "org.pocketqa.tools.CoreServer"
NEED_JDK = "needs a JDK, version 8 or later (on Debian: apt-get install openjdk-17-jdk-headless)"


@dataclass(frozen=True)
class CoreAnswer:
    """Answer of the core: what `qa.text.answers.decode` returns, and whether there is an answer."""

    prediction: Prediction
    answered: bool
    n_windows: int
    n_windows_in_text: int


@cache
def compiled_core() -> "tempfile.TemporaryDirectory[str]":
    """Compile the core and its desktop tools once, into a folder that is deleted with this process.

    Raises OptionError when there is no JDK or no source.
    """
    if shutil.which("javac") is None or shutil.which("java") is None:
        raise OptionError(f"the Android core {NEED_JDK}")
    files = sorted(str(path) for part in ("main", "tools") for path in (SOURCES / part).rglob("*.java"))
    if not files:
        raise OptionError(
            f"{SOURCES}: no Java sources; run this in a checkout of the project (pip install -e .)"
        )
    folder = tempfile.TemporaryDirectory(prefix="pocketqa-core-")
    options = ["-nowarn", "-encoding", "UTF-8", "-source", "8", "-target", "8", "-d", folder.name]
    command = ["javac", *options, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=UTF8)
    if done.returncode:
        raise OptionError(f"the Android core does not compile: {done.stderr.strip()[:2000]}")
    return folder


class CoreProcess:
    """Running core with one model file open; use it in a `with` statement.

    Raises BundleError, with the core's message, when the core refuses the file.
    """

    def __init__(self, model: Path) -> None:
        # As the working folder, because a class path cannot name one with a colon.
        folder = compiled_core().name
        self._start(["java", "-cp", ".", MAIN_CLASS, str(model.resolve())], model, folder)

    def _start(self, command: list[str], model: Path, folder: str | None = None) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=UTF8
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to = self._process.stdin
        self._from = self._process.stdout
        try:
            self._expect(b"M", f"{model}: the app refuses it: ")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the token ids of a text and their offsets in code points."""
        self._send(b"T" + packed(text))
        self._expect(b"T")
        (n,) = self._unpack(">i")
        values = np.frombuffer(self._read(12 * n), ">i4").reshape(n, 3)
        return values[:, 0].tolist(), [(start, end) for _, start, end in values.tolist()]

    def check_probe(self, runtime: Runtime) -> float:
        """Let the core run the probe in the file; return the largest relative difference.

        BundleError when the core refuses.
        """
        self._send(b"P")
        self._serve(runtime, b"P", "the app refuses this model: ")
        return float(self._unpack(">d")[0])

    def ask(self, passage: str, question: str, runtime: Runtime, *, read_all: bool = False) -> CoreAnswer:
        """Let the core answer a question, with logits from `runtime`.

        With `read_all` it reads all of a long text.
        """
        self._send(b"Q" + packed(passage) + packed(question) + struct.pack(">?", read_all))
        self._serve(runtime, b"A", "")
        return self._read_answer()

    def _read_answer(self) -> CoreAnswer:
        n_windows, n_in_text, answered, null_score, n = self._unpack(">ii?di")
        candidates = tuple(Candidate(*self._unpack(">diid")) for _ in range(n))
        return CoreAnswer(Prediction(candidates, null_score), answered, n_windows, n_in_text)

    def _serve(self, runtime: Runtime, end: bytes, refusal: str) -> None:
        """Compute the windows the core asks for, until its reply begins."""
        while self._expect(b"R" + end, refusal) == b"R":
            name = self._read(self._unpack(">H")[0]).decode()
            (length,) = self._unpack(">i")
            if signature_length(name) not in (None, length):
                raise ParityError(f"the core asked signature {name} for {length} tokens")
            values = np.frombuffer(self._read(3 * 4 * length), ">i4").astype(np.int64).reshape(3, 1, length)
            start, end_logits = runtime(dict(zip(INPUTS, values, strict=True)))
            self._send(np.concatenate([start[0], end_logits[0]]).astype(">f4").tobytes())

    def _expect(self, letters: bytes, refusal: str = "") -> bytes:
        letter = self._read(1)
        if letter == b"E":
            raise BundleError(refusal + self._read(self._unpack(">i")[0]).decode())
        if letter not in letters:
            raise ParityError(f"the core replied {letter!r}, wanted one of {letters!r}")
        return letter

    def _send(self, data: bytes) -> None:
        try:
            self._to.write(data)
            self._to.flush()
        except BrokenPipeError:
            raise ParityError("the core stopped; its own message stands above") from None

    def _unpack(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._read(struct.calcsize(form)))

    def _read(self, n: int) -> bytes:
        data = self._from.read(n)
        if len(data) < n:
            raise ParityError("the core stopped; its own message stands above")
        return data


def packed(text: str) -> bytes:
    """Encode a text as a server reads it: the number of its UTF-16 units, then the units.

    Half a surrogate pair is one unit.
    """
    units = text.encode("utf-16-be", "surrogatepass")
    return struct.pack(">i", len(units) // 2) + units
