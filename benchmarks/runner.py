"""Compute windows with an exported model on a machine that has numpy and LiteRT or ONNX Runtime, and nothing of this project.

    python3 runner.py --weights model.tflite --windows windows.npz --out out.npz

A plain script: it is copied to a board and run there by any Python from 3.9 on. `benchmarks/compare.py --target` does both.

The windows file holds weights_sha256 (text), n_tokens (N,), context_begin (N,) and input_ids, the windows' tokens one after the
other. The output has start_logits and end_logits in the same order, times_ns (N, repeats) of the runtime calls alone, and
facts, a JSON text of versions and machine. Nothing is written when anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import platform
import sys
import time
import zipfile
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

# As qa/runtimes.py has them: the names LiteRT's interpreter has been published under, newest first.
LITERT_PACKAGES = (
    ("ai-edge-litert", "ai_edge_litert.interpreter"),
    ("tensorflow", "tensorflow.lite.python.interpreter"),
    ("tflite-runtime", "tflite_runtime.interpreter"),
)
PROGRESS_EVERY_S = 5
EXIT_USER_ERROR = 2

Inputs = dict  # of names to (B, T) int64 arrays


class InputError(Exception):
    """Something is wrong with what the runner was given, or with where it runs; one line says what to do."""


@dataclass
class Model:
    """A loaded model: `call` maps (B, T) inputs to start and end logits (B, T); `lengths` are the T it takes, None any.

    `peak_memory_mb` tells the peak of its memory where that is not its process's.
    """

    runtime: str
    lengths: list[int] | None
    call: Callable[[Inputs], Any]
    max_batch: int = 1
    peak_memory_mb: Callable[[], float | None] | None = None


@dataclass
class Windows:
    """N windows: the tokens of each, and where its context begins."""

    weights_sha256: str
    input_ids: list[Any]
    context_begin: list[int]


def read_windows(path: Path) -> Windows:
    """Read and check a windows file."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise ValueError("it is a single array, an .npy file")
        with loaded as file:
            names = ("weights_sha256", "n_tokens", "context_begin", "input_ids")
            sha256, n_tokens, context_begin, input_ids = (file[name] for name in names)
    except KeyError as error:
        raise InputError(f"{path}: not a windows file, it lacks {str(error).split()[0]}") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a whole .npz file ({error}); copy it again") from None
    arrays = (n_tokens, context_begin, input_ids)
    if sha256.shape != () or sha256.dtype.kind != "U" or any(a.ndim != 1 or a.dtype.kind not in "iu" for a in arrays):
        raise InputError(f"{path}: not a windows file: one text and three lists of whole numbers are wanted")
    fits = len(n_tokens) == len(context_begin) and len(n_tokens) > 0 and n_tokens.sum() == len(input_ids)
    if not fits or (n_tokens < 1).any() or (context_begin < 0).any() or (context_begin > n_tokens).any():
        raise InputError(
            f"{path}: {len(n_tokens)} windows, {len(context_begin)} beginnings and {len(input_ids)} tokens do not fit together"
        )
    return Windows(str(sha256), np.split(input_ids, np.cumsum(n_tokens)[:-1]), [int(n) for n in context_begin])


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a weights file that did not arrive whole."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    if digest.hexdigest() != expected:
        raise InputError(f"{path}: SHA-256 {digest.hexdigest()[:12]}, {expected[:12]} is wanted; copy it again")


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
    return Model(f"onnxruntime {ort.__version__}", None, lambda inputs: session.run(["start_logits", "end_logits"], inputs))


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

    return Model(f"{package} {installed_version(package)}", sorted(runners), call)


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


def make_inputs(windows: Windows, lengths: list[int] | None, pad_to: int) -> list[Inputs]:
    """The inputs of every window, at least `pad_to` long: at that very length, or at the smallest of `lengths` that fits."""
    batches = []
    for ids, begin in zip(windows.input_ids, windows.context_begin):
        n = len(ids)
        fitting = [max(n, pad_to)] if lengths is None else [length for length in lengths if length >= max(n, pad_to)]
        if not fitting:
            raise InputError(f"a window of {max(n, pad_to)} tokens does not fit the model's lengths {lengths}")
        inputs = {name: np.zeros((1, fitting[0]), np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
        inputs["input_ids"][0, :n], inputs["attention_mask"][0, :n], inputs["token_type_ids"][0, begin:n] = ids, 1, 1
        batches.append(inputs)
    return batches


def warm_up(model: Model, batches: list[Inputs]) -> int:
    """Call the model once at each of its lengths that is used, or once at all; the number of calls."""
    first = {batch["input_ids"].shape[1] if model.lengths else 0: batch for batch in reversed(batches)}
    for batch in first.values():
        model.call(batch)
    return len(first)


def compute(model: Model, batches: list[Inputs], repeats: int) -> tuple[list[Any], Any]:
    """Start and end logits (1, T) of every batch, and the times (N, repeats) in nanoseconds of the calls alone."""
    times, logits = np.zeros((len(batches), repeats), np.int64), []
    began = said = time.monotonic()
    for row, batch in enumerate(batches):
        for repeat in range(repeats):
            # The system call marks the moment for a counter of instructions; it is cheap, and nothing else makes it.
            os.getppid()
            start_ns = time.perf_counter_ns()
            output = model.call(batch)
            times[row, repeat] = time.perf_counter_ns() - start_ns
            os.getppid()
        logits.append(output)
        now = time.monotonic()
        if now - said >= PROGRESS_EVERY_S:
            said, each = now, (now - began) / (row + 1)
            print(
                f"window {row + 1} of {len(batches)}, {each:.1f} s each, {each * (len(batches) - row - 1):.0f} s left", flush=True
            )
    return logits, times


def text_of(path: str) -> str:
    """A small file of the system as text; empty where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip("\0 \n")
    except OSError:
        return ""


def usable_cores() -> list[int]:
    """Cores this process may use, ascending."""
    return sorted(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


def machine_facts() -> dict:
    """What decides speed: the CPU as /proc/cpuinfo tells, cores, governor, load; what the system does not tell is absent."""
    resident = [line.split()[1] for line in text_of("/proc/self/status").splitlines() if line.startswith("VmHWM:")]
    facts = {
        "architecture": platform.machine(),
        "board": text_of("/proc/device-tree/model"),
        "cpuinfo": text_of("/proc/cpuinfo").split("\n\n")[0],
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "governor": text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "peak_memory_mb": round(1024 * int(resident[0]) / 1e6, 1) if resident else None,
    }
    return {key: value for key, value in facts.items() if value}


def save(path: Path, arrays: dict) -> None:
    """Write an .npz by way of a neighbour, so that a full disk leaves nothing half-written."""
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb") as file:
            np.savez(file, **arrays)
        os.replace(partial, path)
    finally:
        if partial.exists():
            partial.unlink()


def run(options: argparse.Namespace) -> None:
    """Check, load, compute, write."""
    if not options.out.absolute().parent.is_dir():
        raise InputError(f"--out {options.out}: its folder does not exist")
    windows = read_windows(options.windows)
    check_sha256(options.weights, windows.weights_sha256)
    load_average = [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None
    began = time.perf_counter()
    model = load(options.weights, options.threads)
    load_ms = round(1e3 * (time.perf_counter() - began), 1)
    batches = make_inputs(windows, model.lengths, options.pad_to)
    try:
        n_warmup = warm_up(model, batches)
        logits, times = compute(model, batches, options.repeats)
    except Exception as error:  # runtimes raise their own types
        raise InputError(f"{options.weights.name}: {model.runtime} failed to compute it ({first_line(error)})") from None
    start, end = (np.concatenate([pair[side][0, : len(ids)] for pair, ids in zip(logits, windows.input_ids)]) for side in (0, 1))
    facts = machine_facts() | {
        "runtime": model.runtime,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "threads": options.threads,
        "n_warmup": n_warmup,
        "load_ms": load_ms,
        "load_average": load_average,
        "weights_sha256": windows.weights_sha256,
    }
    save(options.out, {"start_logits": start, "end_logits": end, "times_ns": times, "facts": np.array(json.dumps(facts))})


def positive(text: str) -> int:
    """A whole number above 0."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def main() -> None:
    """The command line; exit code 2 with one line when anything is wrong."""
    parser = argparse.ArgumentParser(description="Logits and times of an exported model on this machine.")
    parser.add_argument("--weights", type=Path, required=True, help="model.tflite or model.onnx of an exported bundle")
    parser.add_argument("--windows", type=Path, required=True, help="windows as an .npz file")
    parser.add_argument("--out", type=Path, required=True, help=".npz file to write")
    parser.add_argument("--threads", type=positive, default=len(usable_cores()), help="threads of the runtime (all cores)")
    parser.add_argument("--repeats", type=positive, default=1, help="calls of each window (1)")
    parser.add_argument("--pad-to", type=positive, default=1, help="pad every window to this many tokens at least")
    try:
        run(parser.parse_args())
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(EXIT_USER_ERROR)


if __name__ == "__main__":
    main()
