"""A runtime in a process of its own: a model file that crashes its runtime ends that process, and the caller
gets an error.

Runtimes trust the files they are given (SECURITY.md). Half of this module runs in the caller, half as `python
-m qa.runtime.isolated`; between them go frames of eight bytes that say how long what follows is, and arrays
as numpy's npz.
"""

import contextlib
import io
import os
import signal
import subprocess
import sys
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np

from qa.base import errors
from qa.base.cli import one_line
from qa.base.errors import BundleError, PocketQAError
from qa.bundles.bundle import Bundle, open_bundle
from qa.formats.tensors import Inputs, Logits
from qa.runtime.runtimes import load_runtime

LENGTH_BYTES = 8
NAMES = ("name", "package", "version")


class IsolatedRuntime:
    """Any runtime, with its probe, computing elsewhere; as fast but for the milliseconds that starting a
    process takes.

    Raises what `load_runtime` raises, and BundleError when the process dies of the file, while loading or
    later.
    """

    def __init__(self, bundle: Bundle, threads: int, *, probe: bool = True) -> None:
        self._weights = bundle.weights
        words = [sys.executable, "-m", __name__, str(bundle.path.absolute()), str(threads), str(int(probe))]
        here = str(Path(__file__).parents[2])
        paths = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
        pipe = subprocess.PIPE
        environment = {**os.environ, "PYTHONPATH": paths}
        self._process = subprocess.Popen(
            words, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        weakref.finalize(self, _end, self._process)
        loaded = self._answer()
        self.name, self.package, self.version = (str(loaded[key]) for key in NAMES)
        self.max_batch = int(loaded["max_batch"])
        self.lengths: tuple[int, ...] | None = tuple(loaded["lengths"].tolist()) or None

    def __call__(self, inputs: Inputs) -> Logits:
        """Logits of a batch, (B, T) each."""
        assert self._process.stdin is not None
        try:
            _write(self._process.stdin, inputs)
        except BrokenPipeError:
            self._died()
        answer = self._answer()
        return answer["start"], answer["end"]

    def _answer(self) -> dict[str, np.ndarray]:
        assert self._process.stdout is not None
        answer = _read(self._process.stdout)
        if answer is None:
            self._died()
            raise AssertionError
        if "error" in answer:
            raise getattr(errors, str(answer["error"]))(str(answer["message"]))
        return answer

    def _died(self) -> None:
        code = self._process.wait()
        how = f"of {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        raise BundleError(
            f"{self._weights}: its runtime died {how} while it loaded or computed it; the file is not to be "
            "used"
        )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Let the process go: it ends when nothing more can come."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # it has died before
                stream.close()
    process.wait()


def _write(stream: IO[bytes], arrays: dict[str, Any]) -> None:
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    stream.write(packed.tell().to_bytes(LENGTH_BYTES, "little") + packed.getbuffer())
    stream.flush()


def _read(stream: IO[bytes]) -> dict[str, np.ndarray] | None:
    """What came, or None when the other side is gone."""
    size = stream.read(LENGTH_BYTES)
    packed = stream.read(int.from_bytes(size, "little"))
    if len(size) < LENGTH_BYTES or len(packed) < int.from_bytes(size, "little"):
        return None
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return dict(arrays)


def _serve(path: Path, threads: int, probe: bool) -> None:
    """Load, say what was loaded, then answer until the caller goes; what is wrong with the file is said by
    frame too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's, who then goes
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no frame
    try:
        runtime = load_runtime(open_bundle(path), threads, probe=probe)
        names = {key: getattr(runtime, key) for key in NAMES}
        _write(
            answers,
            {**names, "max_batch": runtime.max_batch, "lengths": np.array(runtime.lengths or (), np.int64)},
        )
        while (inputs := _read(requests)) is not None:
            start, end = runtime(inputs)
            _write(answers, {"start": start, "end": end})
    except PocketQAError as error:
        _write(answers, {"error": type(error).__name__, "message": str(error)})
    except BrokenPipeError:
        pass
    except Exception as error:  # of the runtime, while it computes
        _write(
            answers,
            {"error": BundleError.__name__, "message": f"{path}: cannot be computed ({one_line(error)})"},
        )


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]), bool(int(sys.argv[3])))
