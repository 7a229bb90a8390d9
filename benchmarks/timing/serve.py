"""One loaded model that computes and times windows on request: what a comparison's measuring processes run.

    python -m benchmarks.timing.serve benchmarks.timing.bundle_adapter runs/demo/student --threads 1 --cores 1

The first argument is a module with `load(path, threads) -> runner.Model`. What it imports at its top, or in a function
`import_libraries(path)` if it has one, is not counted as loading. It may run in an environment of its own: this file needs numpy
and nothing else.

Requests come as JSON objects, one a line, on stdin, each answered by one line on stdout:

    {"windows": NAME, "path": FILE, "pad_to": T}
        reads windows, a file as runner.py reads it, to be padded to T tokens at least
    {"turn": NAME, "rows": [...], "min_s": S, "batch": B}
        times these windows, all of them over and over until the calls took S seconds: {"times_ms": [[...], ...], ...}
    {"call": {"input_ids": [[...]], ...}}
        computes a batch: {"start_logits": [[...]], "end_logits": [[...]]}

The first line is said unasked, when the model is loaded. A failure is {"error": LINE}, and the end of the process.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.runner import Inputs, Model, Windows, first_line, read_windows

WARMUP_CALLS = 3  # before a turn: other processes had the caches meanwhile
NAMES = ("input_ids", "attention_mask", "token_type_ids")


def resident_mb(field: str) -> float | None:
    """VmRSS (now) or VmHWM (peak) of this process in MB, or None where the system does not tell.

    Not getrusage: its peak starts at that of the process that started this one.
    """
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.is_file() else []
    return next((round(1024 * int(line.split()[1]) / 1e6, 1) for line in lines if line.startswith(f"{field}:")), None)


def collate(windows: Windows, rows: list[int], lengths: list[int] | None, pad_to: int) -> Inputs:
    """(B, T) inputs of these windows, T as short as the model's lengths, `pad_to` and the longest window allow."""
    wanted = max(pad_to, *(len(windows.input_ids[row]) for row in rows))
    fitting = [wanted] if lengths is None else [length for length in lengths if length >= wanted]
    if not fitting:
        raise ValueError(f"a window of {wanted} tokens does not fit the model's lengths {lengths}")
    inputs = {name: np.zeros((len(rows), fitting[0]), np.int64) for name in NAMES}
    for i, row in enumerate(rows):
        n = len(windows.input_ids[row])
        inputs["input_ids"][i, :n], inputs["attention_mask"][i, :n] = windows.input_ids[row], 1
        inputs["token_type_ids"][i, windows.context_begin[row] : n] = 1
    return inputs


class Served:
    """A loaded model and the windows it has been given."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.windows: dict[str, tuple[Windows, int]] = {}
        self.first_ms: float | None = None
        """The first call of all."""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what one request asks."""
        if "windows" in request:
            self.windows[request["windows"]] = (read_windows(Path(request["path"])), request["pad_to"])
            return {}
        if "turn" in request:
            return self.turn(request["turn"], request["rows"], request["min_s"], request["batch"])
        start, end = self.call({name: np.array(rows, np.int64) for name, rows in request["call"].items()})
        return {"start_logits": np.asarray(start, np.float32).tolist(), "end_logits": np.asarray(end, np.float32).tolist()}

    def call(self, inputs: Inputs) -> Any:
        """Compute outside the stopwatch, but for the first call of all."""
        began = time.perf_counter_ns()
        output = self.model.call(inputs)
        if self.first_ms is None:
            self.first_ms = round((time.perf_counter_ns() - began) / 1e6, 4)
        return output

    def batches(self, name: str, rows: list[int], batch: int) -> list[list[Inputs]]:
        """The calls that compute these windows, `batch` at a time: a list of calls for each batch.

        A model that takes fewer at once gets several calls for a batch.
        """
        windows, pad_to = self.windows[name]
        at_once = min(batch, self.model.max_batch)
        parts = [rows[i : i + batch] for i in range(0, len(rows), batch)]
        return [
            [collate(windows, part[i : i + at_once], self.model.lengths, pad_to) for i in range(0, len(part), at_once)]
            for part in parts
        ]

    def turn(self, name: str, rows: list[int], min_s: float, batch: int) -> dict[str, Any]:
        """Time each batch of these windows, all of them over and over until the calls took `min_s` seconds."""
        batches = self.batches(name, rows, batch)
        for number in range(WARMUP_CALLS):
            self.call(batches[number % len(batches)][0])
        times: list[list[float]] = []
        gc.collect()
        gc.disable()  # a collection inside the stopwatch would be counted as the model's
        try:
            timed_ms = 0.0
            while not times or timed_ms < 1e3 * min_s:
                times.append([self._timed(calls) for calls in batches])
                timed_ms += sum(times[-1])
        finally:
            gc.enable()
        peak = resident_mb("VmHWM") if self.model.peak_memory_mb is None else self.model.peak_memory_mb()
        return {"times_ms": times, "n_warmup": WARMUP_CALLS, "peak_memory_mb": peak, "latency_ms_first": self.first_ms}

    def _timed(self, calls: list[Inputs]) -> float:
        began = time.perf_counter_ns()
        for inputs in calls:
            self.model.call(inputs)
        return round((time.perf_counter_ns() - began) / 1e6, 4)


def main() -> None:
    """Load, then answer until stdin ends."""
    parser = argparse.ArgumentParser(description="Compute and time windows on request.")
    parser.add_argument("adapter", help="module that loads the model")
    parser.add_argument("path", type=Path, help="what it loads")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--cores", type=int, nargs="+", required=True, help="cores to run on")
    parser.add_argument("--precision", help="told to the module where it computes one model in several")
    options = parser.parse_args()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints goes to stderr
    os.sched_setaffinity(0, options.cores)

    def say(reply: dict[str, Any]) -> None:
        print(json.dumps(reply), file=replies, flush=True)

    try:
        adapter = importlib.import_module(options.adapter)
        if hasattr(adapter, "import_libraries"):
            adapter.import_libraries(options.path)
        before = resident_mb("VmRSS")
        began = time.perf_counter()
        precision = [] if options.precision is None else [options.precision]
        served = Served(adapter.load(options.path, options.threads, *precision))
        load_ms = round(1e3 * (time.perf_counter() - began), 1)
        model = {"runtime": served.model.runtime, "lengths": served.model.lengths, "max_batch": served.model.max_batch}
        say(model | {"load_ms": load_ms, "memory_before_load_mb": before})
        for line in sys.stdin:
            say(served.answer(json.loads(line)))
    except Exception as error:  # libraries raise their own types; whoever asked gets one line, stderr the rest
        say({"error": first_line(error)})
        raise


if __name__ == "__main__":
    main()
