"""A process that holds one model and does as it is asked: load | compute | time.

    python -m benchmarks.measure.worker

For any Python from 3.9 on with numpy: with the files it imports it is also copied to a board, or run under
QEMU. Requests come as JSON objects, one a line, on stdin; each is answered by one line on stdout:

    {"load": FILE, "threads": N, "cores": [...], "adapter": MODULE, "precision": P, "sha256": HASH}
        loads the weights of a bundle, whose kind their name tells, or whatever an adapter module's
        `load(path, threads)` takes. What the runtime's `library()` or the module's
        `import_libraries(path)` imports is not counted as loading. threads 0
        and no cores are all there are.
    {"compute": {"input_ids": [[...]], ...}}
        computes a batch: {"start_logits": TEXT, "end_logits": TEXT}, float32 (B, T) in base64
    {"time": {"input_ids": [[...], ...], "context_begin": [...]}, "pad_to": T, "batch": B, "min_s": S}
        times these windows, padded to T tokens at least, over and over until the calls took S seconds:
        {"times_ms": [[...], ...], ...}

A failure is {"error": LINE}, and the end of the process.
"""

from __future__ import annotations

import base64
import gc
import hashlib
import importlib
import json
import os
import platform
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

from qa.formats.registry import KINDS
from qa.formats.tensors import OUTPUTS, Inputs, padded_inputs
from qa.runtime.engines import run_length

WARMUP_CALLS = 3  # before a turn: other processes had the caches meanwhile


class RequestError(Exception):
    """Something is wrong with what was asked for; one line says what to do."""


@dataclass
class Model:
    """A loaded model: `call` maps (B, T) inputs to start and end logits (B, T); `lengths` are the T it takes,
    None any.

    `runtime` is (package, version, what else tells how it is used). `peak_memory_mb` tells the peak of its
    memory where that is not its process's.
    """

    runtime: tuple[str, str, str]
    lengths: list[int] | None
    call: Callable[[Inputs], Any]
    max_batch: int = 1
    peak_memory_mb: Callable[[], float | None] | None = None


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a weights file that did not arrive whole."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != expected:
        raise RequestError(f"{path}: SHA-256 {digest[:12]}, {expected[:12]} is wanted; copy it again")


def runtime_of(path: Path) -> Any:
    """The class of the runtime that computes a bundle's weights."""
    found = [kind for kind in KINDS.values() if kind.weights == path.name]
    if not found:
        raise RequestError(
            f"{path}: not the weights of a bundle, {', '.join(kind.weights for kind in KINDS.values())}"
        )
    return found[0].runtime_class()


def import_libraries(path: Path) -> None:
    """Import what a weights file needs, so that loading it is timed alone."""
    runtime_of(path).library()


def load(path: Path, threads: int) -> Model:
    """Load a weights file, unprobed: its answers are measured before its times."""
    loaded = runtime_of(path)(path, threads)
    lengths = list(loaded.lengths) if loaded.lengths else None
    return Model((loaded.package, loaded.version, ""), lengths, loaded, loaded.max_batch)


def first_line(error: Exception) -> str:
    """The message of an error, without what follows its first line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def text_of(path: str) -> str:
    """A small file of the system as text; empty where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip("\0 \n")
    except OSError:
        return ""


def resident_mb(field: str) -> float | None:
    """VmRSS (now) or VmHWM (peak) of this process in MB, or None where the system does not tell.

    Not getrusage: its peak starts at that of the process that started this one.
    """
    lines = text_of("/proc/self/status").splitlines()
    return next(
        (round(1024 * int(line.split()[1]) / 1e6, 1) for line in lines if line.startswith(f"{field}:")), None
    )


def usable_cores() -> list[int]:
    """Cores this process may use, ascending."""
    return sorted(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


def system_information() -> dict:
    """What decides speed: the CPU as /proc/cpuinfo tells, cores, governor, load; what the system does not
    tell is absent."""
    found = {
        "architecture": platform.machine(),
        "board": text_of("/proc/device-tree/model"),
        "cpuinfo": text_of("/proc/cpuinfo").split("\n\n")[0],
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "governor": text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }
    return {key: value for key, value in found.items() if value not in (None, "")}


class Worker:
    """The loaded model, and what is known of its calls so far."""

    def __init__(self) -> None:
        self.model: Model | None = None
        self.first_ms: float | None = None
        """The first call of all."""
        self.warm: set[int] = set()
        """Lengths that were computed once; 0 where the model takes any."""

    def answer(self, request: dict) -> dict:
        """Do what one request asks."""
        if "load" in request:
            return self.load(**request)
        if self.model is None:
            raise RequestError("nothing is loaded yet")
        if "compute" in request:
            return self.compute(
                self.model, {name: np.array(rows, np.int64) for name, rows in request["compute"].items()}
            )
        if "time" in request:
            return self.time(self.model, **request)
        raise RequestError(f"a request is load, compute or time, not {', '.join(request)}")

    def load(
        self,
        load: str,
        threads: int,
        cores: list[int],
        adapter: str | None = None,
        precision: str | None = None,
        sha256: str | None = None,
    ) -> dict:
        """Load a model on these cores: its runtime and lengths, what loading took, and what the system is."""
        system = system_information()
        path = Path(load)
        if cores:
            os.sched_setaffinity(0, cores)
        if threads:  # whatever a library starts at its import, it has no more than are measured
            os.environ["OMP_NUM_THREADS"] = str(threads)
        if sha256:
            check_sha256(path, sha256)
        module: Any = importlib.import_module(adapter) if adapter else sys.modules[__name__]
        if hasattr(module, "import_libraries"):
            module.import_libraries(path)
        before = resident_mb("VmRSS")
        began = time.perf_counter()
        self.model = module.load(path, threads or len(usable_cores()), *([precision] if precision else []))
        load_ms = round(1e3 * (time.perf_counter() - began), 1)
        told = {
            "runtime": self.model.runtime,
            "lengths": self.model.lengths,
            "max_batch": self.model.max_batch,
        }
        return {**told, "load_ms": load_ms, "memory_before_load_mb": before, "system": system}

    def call(self, model: Model, inputs: Inputs) -> Any:
        """Compute outside the stopwatch, but for the first call of all."""
        began = time.perf_counter_ns()
        output = model.call(inputs)
        if self.first_ms is None:
            self.first_ms = round((time.perf_counter_ns() - began) / 1e6, 4)
        return output

    def warm_up(self, model: Model, inputs: Inputs) -> None:
        """Make the first call at a length, which allocates tensors and packs weights, before one that
        counts.
        """
        length = inputs["input_ids"].shape[1] if model.lengths else 0
        if length not in self.warm:
            self.warm.add(length)
            self.call(model, inputs)

    def compute(self, model: Model, inputs: Inputs) -> dict:
        """Logits of a batch."""
        self.warm_up(model, inputs)
        # The system call marks the moment for a counter of instructions; it is cheap, and nothing else makes
        # it.
        os.getppid()
        sides = model.call(inputs)
        os.getppid()
        packed = (
            base64.b64encode(np.ascontiguousarray(side, np.float32).tobytes()).decode() for side in sides
        )
        return dict(zip(OUTPUTS, packed))

    def time(self, model: Model, time: dict, pad_to: int, batch: int, min_s: float) -> dict:
        """Time each batch of these windows, all of them over and over until the calls took `min_s` seconds.

        A model that takes fewer at once gets several calls for a batch, which are timed together.
        """
        ids = time["input_ids"]
        begins = time["context_begin"]
        at_once = min(batch, model.max_batch)
        batches = [
            [
                padded(model, ids[i : min(i + at_once, first + batch)], begins[i:], pad_to)
                for i in range(first, min(first + batch, len(ids)), at_once)
            ]
            for first in range(0, len(ids), batch)
        ]
        for inputs in (inputs for calls in batches for inputs in calls if model.lengths):
            self.warm_up(model, inputs)
        for number in range(WARMUP_CALLS):
            self.call(model, batches[number % len(batches)][0])
        times: list[list[float]] = []
        gc.collect()
        gc.disable()  # a collection inside the stopwatch would be counted as the model's
        try:
            timed_ms = 0.0
            while not times or timed_ms < 1e3 * min_s:
                times.append([timed(model, calls) for calls in batches])
                timed_ms += sum(times[-1])
        finally:
            gc.enable()
        peak = resident_mb("VmHWM") if model.peak_memory_mb is None else model.peak_memory_mb()
        return {
            "times_ms": times,
            "n_warmup": WARMUP_CALLS,
            "peak_memory_mb": peak,
            "latency_ms_first": self.first_ms,
        }


def padded(model: Model, ids: list[list[int]], begins: list[int], pad_to: int) -> Inputs:
    """Windows as short as the longest of them, the model's lengths and `pad_to` allow."""
    return padded_inputs(ids, begins, run_length(model, max(pad_to, *map(len, ids))))


def timed(model: Model, calls: list[Inputs]) -> float:
    """Milliseconds of some calls together."""
    began = time.perf_counter_ns()
    for inputs in calls:
        model.call(inputs)
    return round((time.perf_counter_ns() - began) / 1e6, 4)


def main() -> None:
    """Answer until stdin ends."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints goes to stderr
    worker = Worker()
    try:
        for line in sys.stdin:
            print(json.dumps(worker.answer(json.loads(line))), file=replies, flush=True)
    except (
        Exception
    ) as error:  # libraries raise their own types; whoever asked gets one line, stderr the rest
        print(json.dumps({"error": first_line(error)}), file=replies, flush=True)
        raise


if __name__ == "__main__":
    main()
