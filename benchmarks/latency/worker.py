"""A process that holds one model and does as it is asked: load | compute | time.

    python -m benchmarks.latency.worker

A plain script for any Python from 3.9 on with numpy: it is also copied to a board, or run under QEMU, and needs nothing else of
this project there but LiteRT or ONNX Runtime. Requests come as JSON objects, one a line, on stdin; each is answered by one line
on stdout:

    {"load": FILE, "threads": N, "cores": [...], "adapter": MODULE, "precision": P, "sha256": HASH}
        loads a model: model.tflite or model.onnx, or whatever an adapter module's `load(path, threads)` takes. What the module
        imports in `import_libraries(path)` is not counted as loading. threads 0 and no cores are all there are.
    {"compute": {"input_ids": [[...]], ...}}
        computes a batch: {"start_logits": TEXT, "end_logits": TEXT}, float32 (B, T) in base64
    {"time": {"input_ids": [[...], ...], "context_begin": [...]}, "pad_to": T, "batch": B, "min_s": S}
        times these windows, padded to T tokens at least, all of them over and over until the calls took S seconds:
        {"times_ms": [[...], ...], ...}

A failure is {"error": LINE}, and the end of the process.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import hashlib
import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

if sys.version_info < (3, 9):  # noqa: UP036, a board may have any
    sys.exit("error: Python 3.9 or newer is needed, this is " + platform.python_version())

try:
    import numpy as np
except ImportError:
    sys.exit("error: numpy is not installed for " + sys.executable + "; python3 -m pip install numpy")

WARMUP_CALLS = 3  # before a turn: other processes had the caches meanwhile
NAMES = ("input_ids", "attention_mask", "token_type_ids")
# As qa/runtimes.py has them: the names LiteRT's interpreter has been published under, newest first.
LITERT_PACKAGES = (
    ("ai-edge-litert", "ai_edge_litert.interpreter"),
    ("tensorflow", "tensorflow.lite.python.interpreter"),
    ("tflite-runtime", "tflite_runtime.interpreter"),
)
Inputs = dict  # of NAMES to (B, T) int64 arrays


class InputError(Exception):
    """Something is wrong with what was asked for, or with where this runs; one line says what to do."""


@dataclass
class Model:
    """A loaded model: `call` maps (B, T) inputs to start and end logits (B, T); `lengths` are the T it takes, None any.

    `runtime` is (package, version, what else tells how it is used). `peak_memory_mb` tells the peak of its memory where that is
    not its process's.
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
        raise InputError(f"{path}: SHA-256 {digest[:12]}, {expected[:12]} is wanted; copy it again")


def import_libraries(path: Path) -> None:
    """Import what a weights file needs, so that loading it is timed alone."""
    if path.suffix == ".tflite":
        find_litert(path)
    elif path.suffix == ".onnx":
        import_onnxruntime(path)


def load(path: Path, threads: int) -> Model:
    """Load model.tflite or model.onnx as qa/runtimes.py does."""
    loaders = {".tflite": load_tflite, ".onnx": load_onnx}
    if path.suffix not in loaders:
        raise InputError(f"{path}: neither .tflite nor .onnx; give the weights file of an exported bundle")
    return loaders[path.suffix](path, threads)


def import_onnxruntime(path: Path) -> Any:
    """The module."""
    try:
        return importlib.import_module("onnxruntime")
    except ImportError:
        raise InputError(f"{path.name} needs onnxruntime, which is not installed for {sys.executable}") from None


def load_onnx(path: Path, threads: int) -> Model:
    """ONNX Runtime on the CPU; it takes any length."""
    ort = import_onnxruntime(path)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    try:
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exception types share no public base
        raise InputError(f"{path}: ONNX Runtime {ort.__version__} cannot load it ({first_line(error)})") from None
    outputs = ["start_logits", "end_logits"]
    return Model(("onnxruntime", ort.__version__, ""), None, lambda inputs: session.run(outputs, inputs))


def load_tflite(path: Path, threads: int) -> Model:
    """LiteRT: a signature for each length, named qa128 and so on."""
    package, interpreter_class = find_litert(path)
    try:
        with stderr_to_null():
            interpreter = interpreter_class(model_path=str(path), num_threads=threads)
            names = list(interpreter.get_signature_list())
            runners = {int(name[len("qa") :]): interpreter.get_signature_runner(name) for name in names}
    except (ValueError, RuntimeError) as error:
        raise InputError(f"{path}: {package} cannot load it ({first_line(error)})") from None

    def call(inputs: Inputs) -> Any:
        runner = runners[inputs["input_ids"].shape[1]]
        output = runner(**{name: array.astype(np.int32) for name, array in inputs.items()})
        return output["start_logits"], output["end_logits"]

    return Model((package, installed_version(package), ""), sorted(runners), call)


def find_litert(path: Path) -> tuple[str, Any]:
    """(package, Interpreter class) of the first LiteRT that is installed."""
    for package, module in LITERT_PACKAGES:
        with contextlib.suppress(ImportError):
            return package, importlib.import_module(module).Interpreter
    names = ", ".join(package for package, _ in LITERT_PACKAGES)
    raise InputError(f"{path.name} needs one of {names}; none is installed for {sys.executable}")


def installed_version(package: str) -> str:
    """Version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown version"


@contextlib.contextmanager
def stderr_to_null() -> Iterator[None]:
    """LiteRT's C++ code talks while it loads; what is on stderr afterwards is an error of ours."""
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


def first_line(error: Exception) -> str:
    """The message of an error, without what follows its first line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def collate(windows: list[Any], context_begin: list[int], lengths: list[int] | None, pad_to: int) -> Inputs:
    """(B, T) inputs of windows (T,), T as short as the model's lengths, `pad_to` and the longest window allow."""
    wanted = max(pad_to, *map(len, windows))
    fitting = [wanted] if lengths is None else [length for length in lengths if length >= wanted]
    if not fitting:
        raise InputError(f"a window of {wanted} tokens does not fit the model's lengths {lengths}")
    inputs = {name: np.zeros((len(windows), fitting[0]), np.int64) for name in NAMES}
    for i, (ids, begin) in enumerate(zip(windows, context_begin)):
        inputs["input_ids"][i, : len(ids)], inputs["attention_mask"][i, : len(ids)] = ids, 1
        inputs["token_type_ids"][i, begin : len(ids)] = 1
    return inputs


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
    return next((round(1024 * int(line.split()[1]) / 1e6, 1) for line in lines if line.startswith(f"{field}:")), None)


def usable_cores() -> list[int]:
    """Cores this process may use, ascending."""
    return sorted(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


def machine_facts() -> dict:
    """What decides speed: the CPU as /proc/cpuinfo tells, cores, governor, load; what the system does not tell is absent."""
    facts = {
        "architecture": platform.machine(),
        "board": text_of("/proc/device-tree/model"),
        "cpuinfo": text_of("/proc/cpuinfo").split("\n\n")[0],
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "governor": text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }
    return {key: value for key, value in facts.items() if value}


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
            raise InputError("nothing is loaded yet")
        if "compute" in request:
            return self.compute(self.model, {name: np.array(rows, np.int64) for name, rows in request["compute"].items()})
        if "time" in request:
            return self.time(self.model, **request)
        raise InputError(f"a request is load, compute or time, not {', '.join(request)}")

    def load(
        self, load: str, threads: int, cores: list[int], adapter: str | None, precision: str | None, sha256: str | None
    ) -> dict:
        """Load a model on these cores: its runtime and lengths, what loading took, and facts of the machine."""
        facts, path = machine_facts(), Path(load)
        if cores:
            os.sched_setaffinity(0, cores)
        if sha256:
            check_sha256(path, sha256)
        module: Any = importlib.import_module(adapter) if adapter else sys.modules[__name__]
        if hasattr(module, "import_libraries"):
            module.import_libraries(path)
        before, began = resident_mb("VmRSS"), time.perf_counter()
        self.model = module.load(path, threads or len(usable_cores()), *([precision] if precision else []))
        load_ms = round(1e3 * (time.perf_counter() - began), 1)
        told = {"runtime": self.model.runtime, "lengths": self.model.lengths, "max_batch": self.model.max_batch}
        return {**told, "load_ms": load_ms, "memory_before_load_mb": before, "machine": facts}

    def call(self, model: Model, inputs: Inputs) -> Any:
        """Compute outside the stopwatch, but for the first call of all."""
        began = time.perf_counter_ns()
        output = model.call(inputs)
        if self.first_ms is None:
            self.first_ms = round((time.perf_counter_ns() - began) / 1e6, 4)
        return output

    def compute(self, model: Model, inputs: Inputs) -> dict:
        """Logits of a batch. The first call at a length, which packs weights, is made twice."""
        length = inputs["input_ids"].shape[1] if model.lengths else 0
        if length not in self.warm:
            self.warm.add(length)
            self.call(model, inputs)
        # The system call marks the moment for a counter of instructions; it is cheap, and nothing else makes it.
        os.getppid()
        sides = model.call(inputs)
        os.getppid()
        packed = (base64.b64encode(np.ascontiguousarray(side, np.float32).tobytes()).decode() for side in sides)
        return dict(zip(("start_logits", "end_logits"), packed))

    def time(self, model: Model, time: dict, pad_to: int, batch: int, min_s: float) -> dict:
        """Time each batch of these windows, all of them over and over until the calls took `min_s` seconds.

        A model that takes fewer at once gets several calls for a batch, which are timed together.
        """
        ids, begins, at_once = time["input_ids"], time["context_begin"], min(batch, model.max_batch)
        batches = [
            [
                collate(ids[i : min(i + at_once, first + batch)], begins[i:], model.lengths, pad_to)
                for i in range(first, min(first + batch, len(ids)), at_once)
            ]
            for first in range(0, len(ids), batch)
        ]
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
        return {"times_ms": times, "n_warmup": WARMUP_CALLS, "peak_memory_mb": peak, "latency_ms_first": self.first_ms}


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
    except Exception as error:  # libraries raise their own types; whoever asked gets one line, stderr the rest
        print(json.dumps({"error": first_line(error)}), file=replies, flush=True)
        raise


if __name__ == "__main__":
    main()
