"""The server that loads one model and times it.

    python -m benchmarks.measure.worker

It runs in any Python from 3.9 on with numpy. With the files it imports it is also copied to a board, or run
under QEMU. The protocol is that of `qa.runtime.remote`, with one request more:

    {"do": "time", "ids": [[...], ...], "context_begin": [...], "pad_to": T, "batch": B, "min_s": S}
        -> {"times_ms": [[...], ...], "n_warmup": N, "peak_memory_mb": M, "latency_ms_first": T}
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import platform
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info < (3, 9):  # noqa: UP036, a board may have any
    sys.exit("error: Python 3.9 or newer is needed, this is " + platform.python_version())

try:
    import numpy as np
except ImportError:
    sys.exit("error: numpy is not installed for " + sys.executable + "; python3 -m pip install numpy")

from qa.base.errors import BundleError
from qa.formats.registry import FORMATS
from qa.formats.tensors import OUTPUTS, Inputs, padded_inputs
from qa.runtime.engines import run_length
from qa.runtime.remote import serve

WARMUP_CALLS = 3  # before a turn: other processes had the caches meanwhile


@dataclass
class Model:
    """A loaded model."""

    runtime: tuple[str, str, str]
    """Package, version, and how it is used where that is not the default."""
    lengths: list[int] | None
    """Numbers of tokens that it takes, ascending; None where it takes any."""
    call: Callable[[Inputs], Any]
    """Maps (B, T) inputs to start and end logits, (B, T) each."""
    max_batch: int = 1
    """Most windows of a call that is timed."""
    answers_batch: int = 1
    """Windows computed at once for answers. A dynamic int8 scale covers the batch, which changes answers."""
    peak_memory_mb: Callable[[], float | None] | None = None
    """Peak of its memory since the last call, where that is not the peak of its process."""


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a weights file that was not copied whole."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != expected:
        raise BundleError(f"{path}: SHA-256 {digest[:12]} instead of {expected[:12]}; copy it again")


def runtime_of(path: Path) -> Any:
    """Return the class of the runtime that computes a bundle's weights, by the file's name."""
    for format in FORMATS.values():
        if format.weights == path.name:
            return format.runtime_class()
    names = ", ".join(format.weights for format in FORMATS.values())
    raise BundleError(f"{path}: not the weights of a bundle ({names})")


def import_libraries(path: Path) -> None:
    """Import what a weights file needs, so that only loading it is timed."""
    runtime_of(path).library()


def load(path: Path, threads: int) -> Model:
    """Load a weights file without its probe: its answers are measured before its times."""
    loaded = runtime_of(path)(path, threads)
    lengths = list(loaded.lengths) if loaded.lengths else None
    return Model((loaded.package, loaded.version, ""), lengths, loaded, loaded.max_batch)


def text_of(path: str) -> str:
    """Read a small file of the system; empty where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip("\0 \n")
    except OSError:
        return ""


def peak_mb() -> float | None:
    """Return the peak of this process's memory in MB, or None where the system does not tell.

    Not getrusage: its peak starts at that of the process that started this one.
    """
    for line in text_of("/proc/self/status").splitlines():
        if line.startswith("VmHWM:"):
            return round(1024 * int(line.split()[1]) / 1e6, 1)
    return None


def forget_peak() -> bool:
    """Let this process's peak begin anew, as that of the windows to come; return False where it cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def frequency_of(core: int, name: str) -> str:
    """Return a fact about a core's frequency; empty where the system does not tell."""
    return text_of(f"/sys/devices/system/cpu/cpu{core}/cpufreq/{name}")


def usable_cores() -> list[int]:
    """Return the cores this process may use, the fastest last; ascending where all are alike."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return sorted(cores, key=lambda core: (int(frequency_of(core, "cpuinfo_max_freq") or 0), core))


def system_information() -> dict:
    """Describe cores and load, and the core that one thread is timed on; unknown facts are absent.

    That core is the last usable one: it decides the CPU (from /proc/cpuinfo) and the governor.
    """
    cores = usable_cores()
    cpus = text_of("/proc/cpuinfo").split("\n\n")
    timed = [cpu for cpu in cpus if re.search(rf"^processor\s*: {cores[-1]}$", cpu, re.MULTILINE)]
    facts = {
        "architecture": platform.machine(),
        "board": text_of("/proc/device-tree/model"),
        "cpuinfo": (timed or cpus)[0],
        "cores": os.cpu_count(),
        "usable_cores": cores,
        "governor": frequency_of(cores[-1], "scaling_governor"),
        "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }
    return {key: value for key, value in facts.items() if value not in (None, "")}


class Server:
    """The loaded model, and the state of its calls so far."""

    model: Model
    first_ms: float | None = None
    """Time of the first call of all."""

    def __init__(self) -> None:
        self.warm: set[tuple[int, ...]] = set()
        """Shapes (B, T) computed once."""

    def load(
        self,
        path: str,
        threads: int,
        cores: list[int],
        adapter: str | None = None,
        precision: str | None = None,
        sha256: str | None = None,
    ) -> dict:
        """Load a model on these cores; threads 0 and no cores mean all.

        `path` is the weights of a bundle, or what the module `adapter` loads. The imports of the runtime's
        `library()`, or of the module's LIBRARIES or `import_libraries(path)`, do not count as loading.
        """
        system = system_information()
        if cores:
            os.sched_setaffinity(0, cores)
        if threads:  # a library that starts threads at its import gets no more than are measured
            os.environ["OMP_NUM_THREADS"] = str(threads)
        weights = Path(path)
        if sha256:
            check_sha256(weights, sha256)
        module: Any = importlib.import_module(adapter) if adapter else sys.modules[__name__]
        if hasattr(module, "import_libraries"):
            module.import_libraries(weights)
        for library in getattr(module, "LIBRARIES", ()):
            importlib.import_module(library)
        began = time.perf_counter()
        self.model = module.load(weights, threads or len(usable_cores()), *([precision] if precision else []))
        return {
            "load_ms": round(1e3 * (time.perf_counter() - began), 1),
            "runtime": self.model.runtime,
            "lengths": self.model.lengths,
            "max_batch": self.model.answers_batch,
            "system": system,
        }

    def call(self, inputs: Inputs) -> None:
        """Compute outside the stopwatch, except for the first call of all."""
        began = time.perf_counter_ns()
        self.model.call(inputs)
        if self.first_ms is None:
            self.first_ms = round((time.perf_counter_ns() - began) / 1e6, 4)

    def warm_up(self, inputs: Inputs) -> None:
        """Make the first call with this shape, which allocates tensors, packs weights or compiles."""
        shape = inputs["input_ids"].shape
        if shape not in self.warm:
            self.warm.add(shape)
            self.call(inputs)

    def compute(self, inputs: Inputs) -> dict:
        """Compute the logits of a batch, float32 (B, T) each."""
        if self.model.lengths or not self.warm:
            self.warm_up(inputs)
        # The system call marks the moment for a counter of instructions; it is cheap, and nothing else makes
        # it.
        os.getppid()
        sides = self.model.call(inputs)
        os.getppid()
        return {name: np.asarray(side, np.float32) for name, side in zip(OUTPUTS, sides)}

    def time(
        self, ids: list[list[int]], context_begin: list[int], pad_to: int, batch: int, min_s: float
    ) -> dict:
        """Time each batch of these windows, over and over until the calls took `min_s` seconds.

        Windows are padded to `pad_to` tokens at least. A model that takes fewer windows at once gets several
        calls for a batch, which are timed together.
        """
        peak = self.model.peak_memory_mb
        if peak is not None:
            peak()  # forgets earlier work, such as answers in larger batches
        at_once = min(batch, self.model.max_batch)
        batches = []
        for first in range(0, len(ids), batch):
            end = min(first + batch, len(ids))
            starts = range(first, end, at_once)
            batches.append(
                [self.padded(ids[i : min(i + at_once, end)], context_begin[i:], pad_to) for i in starts]
            )
        for calls in batches:
            for inputs in calls:
                self.warm_up(inputs)
        for number in range(WARMUP_CALLS):
            self.call(batches[number % len(batches)][0])
        times: list[list[float]] = []
        tells_peak = peak is not None or forget_peak()
        gc.collect()
        gc.disable()  # a collection inside the stopwatch would be counted as the model's
        try:
            timed_ms = 0.0
            while not times or timed_ms < 1e3 * min_s:
                times.append([self.timed(calls) for calls in batches])
                timed_ms += sum(times[-1])
        finally:
            gc.enable()
        return {
            "times_ms": times,
            "n_warmup": WARMUP_CALLS,
            "peak_memory_mb": (peak_mb() if peak is None else peak()) if tells_peak else None,
            "latency_ms_first": self.first_ms,
        }

    def padded(self, ids: list[list[int]], begins: list[int], pad_to: int) -> Inputs:
        """Pad windows to the smallest length that fits them, the model's lengths and `pad_to`."""
        return padded_inputs(ids, begins, run_length(self.model, max(pad_to, *map(len, ids))))

    def timed(self, calls: list[Inputs]) -> float:
        """Return the milliseconds of some calls together."""
        began = time.perf_counter_ns()
        for inputs in calls:
            self.model.call(inputs)
        return round((time.perf_counter_ns() - began) / 1e6, 4)


if __name__ == "__main__":
    server = Server()
    serve({"load": server.load, "compute": server.compute, "time": server.time})
