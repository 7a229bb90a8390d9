"""Commands in forks of a server process that has everything imported: clean processes in a tenth of the time."""

import multiprocessing
import os
import signal
import sys
from multiprocessing import forkserver
from pathlib import Path
from unittest import mock

from places import ROOT

LIBRARIES = (
    *("torch", "torch.onnx", "torch.utils.tensorboard", "transformers", "accelerate", "litert_torch"),
    *("ai_edge_quantizer", "ai_edge_litert.interpreter", "onnx", "onnxruntime", "distill.fine_tuning"),
    *("distill.distillation", "compress.prune.steps", "compress.qat.steps"),
    *("export.onnx.exporter", "export.tflite.exporter", "benchmarks.comparison", "events", "bundle_use"),
)
HUNG = 124  # exit code of a process that had to be killed, as of timeout(1); no command ends with it
# One thread, so that results repeat to the bit; this checkout's packages; nothing from the hub.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(ROOT),
    "HF_HUB_OFFLINE": "1",
    "CUDA_VISIBLE_DEVICES": "",
}
CONTEXT = multiprocessing.get_context("forkserver")


def _in_folder(target, arguments, folder, log):
    os.chdir(folder)
    for descriptor, path in ((0, os.devnull), (1, os.devnull), (2, log)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), descriptor)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    target(*arguments)


class Fork:
    """A call of a module's function in a process of its own, in a folder."""

    number = 0

    def __init__(self, target, *arguments, folder, scratch):
        Fork.number += 1
        self.log = Path(scratch) / f"stderr-{os.getpid()}-{Fork.number}"
        self.log.touch()
        CONTEXT.set_forkserver_preload(list(LIBRARIES))
        with mock.patch.dict(os.environ, ENVIRONMENT):
            forkserver.ensure_running()
        self.process = CONTEXT.Process(target=_in_folder, args=(target, arguments, folder, self.log))
        self.process.start()

    def kill(self, how=signal.SIGKILL):
        """Send a signal."""
        os.kill(self.process.pid, how)

    def ended(self, seconds):
        """Whether it ends within some time."""
        self.process.join(seconds)
        return self.process.exitcode is not None

    def finish(self, seconds=600):
        """Return the exit code, negative for a signal, and its stderr; a process that hangs is killed."""
        hung = not self.ended(seconds)
        if hung:
            self.kill()
            self.process.join()
        said = self.log.read_text(encoding="utf-8", errors="replace")
        self.log.unlink()
        return (
            (HUNG, f"{said}\nerror: still running after {seconds} s")
            if hung
            else (self.process.exitcode, said)
        )
