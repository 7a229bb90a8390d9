"""Latency of several models on real windows, measured in turns so that a busy machine slows all of them alike.

What is timed is the runtime call alone, one window at a time. Each timed call follows an untimed one of the same window: it
brings the model back into the caches and outlasts the threads that another runtime may have left spinning.
"""

import gc
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tqdm import tqdm

from qa.answers import decode
from qa.cli import one_line
from qa.features import Window, collate, make_windows
from qa.runtimes import Inputs, Logits, Runtime, run_length
from qa.settings import QASettings
from qa.squad import Example

REAL = "real"
Lengths = str | int  # "real", or the length that every window is padded to
WARMUP_CALLS = 3


@dataclass
class Contender:
    """A loaded model, the windows it is timed on, and what was measured so far."""

    runtime: Runtime
    windows: Sequence[Window]
    inputs: dict[Lengths, list[Inputs]]
    times_ms: dict[Lengths, list[float]] = field(default_factory=dict)
    logits: dict[int, Logits] = field(default_factory=dict)
    """Logits of window i over its own tokens, each (T,), from its call at real length."""
    error: str | None = None
    """Why this one dropped out."""


def sample_windows(windows: Sequence[Window], n: int) -> list[Window]:
    """At most `n` windows at evenly spaced quantiles of length, so that their lengths are distributed as those of the data."""
    ordered = sorted(windows, key=lambda w: len(w.input_ids))
    n = min(n, len(ordered))
    return [ordered[int((i + 0.5) * len(ordered) / n)] for i in range(n)]


def contender(runtime: Runtime, windows: Sequence[Window], max_length: int) -> Contender:
    """Make the inputs of both length settings: as short as the runtime allows, and padded to `max_length`."""
    real = [collate([w], run_length(runtime, len(w.input_ids))) for w in windows]
    padded = [collate([w], run_length(runtime, max_length)) for w in windows]
    return Contender(runtime, windows, {REAL: real, max_length: padded})


def measure_in_turns(contenders: Sequence[Contender], *, progress: bool = False) -> float | None:
    """Fill in `times_ms` and `logits` of every contender; one that fails gets an `error` and drops out.

    The windows come in a fixed shuffled order, so that a slow minute of the machine does not fall on one length only.
    Returns how many cores other processes kept busy meanwhile, None where the system does not tell.
    """
    for one in contenders:
        _attempt(one, partial(_warm_up, one))
    n_windows = max((len(one.windows) for one in contenders), default=0)
    order = np.random.default_rng(0).permutation(n_windows)
    gc.collect()
    began, others_before = time.perf_counter(), busy_seconds_of_others()
    gc.disable()  # a collection inside the stopwatch would be counted as the model's
    try:
        for index in tqdm(order, desc="latency", unit="window", disable=not progress):
            for one in contenders:
                if int(index) < len(one.windows):
                    _attempt(one, partial(_time_window, one, int(index)))
    finally:
        gc.enable()
    others_after, seconds = busy_seconds_of_others(), time.perf_counter() - began
    if others_before is None or others_after is None or not seconds:
        return None
    return round(max(0.0, others_after - others_before) / seconds, 2)


def busy_seconds_of_others() -> float | None:
    """CPU seconds that all other processes (and the host, as steal) have used since start-up; None without /proc/stat."""
    path = Path("/proc/stat")
    if not path.is_file():
        return None
    ticks = [int(word) for word in path.read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    idle, waiting = ticks[3], ticks[4]
    own = os.times()
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK") - own.user - own.system


def _attempt(one: Contender, action: Callable[[], None]) -> None:
    if one.error is None:
        try:
            action()
        except Exception as error:  # runtimes raise their own types; the comparison goes on without this one
            one.error = one_line(error)


def _warm_up(one: Contender) -> None:
    for inputs in one.inputs.values():
        for _ in range(WARMUP_CALLS):
            one.runtime(inputs[-1])


def _time_window(one: Contender, index: int) -> None:
    for lengths, inputs in one.inputs.items():
        one.runtime(inputs[index])
        began = time.perf_counter_ns()
        start, end = one.runtime(inputs[index])
        one.times_ms.setdefault(lengths, []).append((time.perf_counter_ns() - began) / 1e6)
        if lengths == REAL:
            n = len(one.windows[index].input_ids)
            one.logits[index] = (start[0, :n], end[0, :n])


def percentiles(times_ms: Sequence[float]) -> dict[str, float]:
    """p50, p90, p99 (linear between neighbours) and mean of the times, by the names they have in rows."""
    p50, p90, p99 = np.percentile(times_ms, [50, 90, 99])
    figures = {"p50": p50, "p90": p90, "p99": p99, "mean": np.mean(times_ms)}
    return {f"latency_ms_{name}": round(float(value), 4) for name, value in figures.items()}


def latency_figures(one: Contender, lengths: Lengths) -> dict[str, float]:
    """The latency columns of one row: percentiles, mean, and how many calls were timed and not timed."""
    times = one.times_ms[lengths]
    return percentiles(times) | {"n_warmup": WARMUP_CALLS + len(times), "n_runs": len(times)}


def tokenize_ms_p50(windows: Sequence[Window], examples: Sequence[Example], tokenizer: Tokenizer, settings: QASettings) -> float:
    """Median time to make the windows of one question from its text, over the questions of these windows."""
    times = []
    for window in windows:
        began = time.perf_counter_ns()
        make_windows([examples[window.example]], tokenizer, settings)
        times.append((time.perf_counter_ns() - began) / 1e6)
    return round(float(np.median(times)), 4)


def decode_ms_p50(one: Contender, settings: QASettings) -> float:
    """Median time to turn one window's logits into answers."""
    times = []
    for index, logits in one.logits.items():
        began = time.perf_counter_ns()
        decode([one.windows[index]], [logits], settings)
        times.append((time.perf_counter_ns() - began) / 1e6)
    return round(float(np.median(times)), 4)
