"""A fork of a process that has everything imported: as good as a fresh one, in a tenth of the time."""

import contextlib
import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from material import environment

LIBRARIES = (
    "torch",
    "torch.onnx",
    "torch.utils.tensorboard",
    "transformers",
    "accelerate",
    "litert_torch",
    "ai_edge_quantizer",
    "ai_edge_litert.interpreter",
    "onnx",
    "onnxruntime",
    "distill.run",
    "compress.prune",
    "compress.qat",
    "benchmarks.search",
    "export.onnx",
    "benchmarks.compare",
)
TICK = 0.005  # seconds between looks
HUNG = 124  # exit code of one that had to be killed, as of timeout(1): no command ends with it


def import_everything() -> None:
    """What stages and runtimes import; nothing is computed, so no threads are started that a fork would
    lack.
    """
    os.environ.update(environment())
    for library in LIBRARIES:
        importlib.import_module(library)


@dataclass
class Fork:
    """A running one."""

    pid: int
    log: Path
    code: int | None = None

    def ended(self, seconds: float) -> bool:
        """Whether it ends within some time."""
        until = time.monotonic() + seconds
        while self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                return False
            else:
                time.sleep(TICK)
        return True

    def finish(self, seconds: float = 600) -> tuple[int, str]:
        """Exit code, negative for a signal, and what was said on stderr; a fork that hangs is killed and has
        said so."""
        said = "" if self.ended(seconds) else f"\nerror: still running after {seconds} s"
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.ended(60)
            self.code = HUNG
        said = self.log.read_text(encoding="utf-8", errors="replace") + said
        self.log.unlink()
        return self.code, said


def fork(call: Callable[[], object], scratch: Path, folder: Path | None = None) -> Fork:
    """Call it in a fork, in `folder`; its stdout is dropped, its stderr kept in `scratch`."""
    log = scratch / f"stderr-{time.monotonic_ns()}"
    log.touch()
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            if folder is not None:
                os.chdir(folder)
            for target, path in ((0, os.devnull), (1, os.devnull), (2, log)):
                os.dup2(os.open(path, os.O_RDWR), target)
            try:
                call()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    return Fork(child, log)
