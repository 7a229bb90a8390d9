"""What is timed, and the figures made of the times: settings, rounds of windows, percentiles.

A single stream as in MLPerf: one window after the other, and only the runtime call under the stopwatch. A
round is a set of windows of the data whose lengths are spread over all lengths of the data. Every model
computes the same windows in the same round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.results.rows import PADDED, UNPADDED, Lengths
from qa.text.features import Window
from qa.text.settings import QASettings


@dataclass(frozen=True)
class Setting:
    """At which lengths, and how many windows at once, a model is timed."""

    lengths: Lengths | Literal["padded"]
    batch: int = 1

    @property
    def name(self) -> str:
        """Return the name in journals."""
        return f"{self.lengths}x{self.batch}"

    def for_model(self, settings: QASettings) -> Lengths:
        """Return the lengths for a model: UNPADDED, or a number of tokens."""
        return settings.max_length if self.lengths == PADDED else self.lengths


@dataclass(frozen=True)
class Plan:
    """Windows and lengths to time of each model."""

    n_rounds: int
    n_windows: int
    """Windows of one round."""
    min_s: float
    """Seconds that a round lasts at least."""
    quick: bool
    settings: tuple[Setting, ...] = (Setting(UNPADDED), Setting(PADDED))
    threads: tuple[int, ...] = (1,)
    """Numbers of threads, one after the other."""

    def windows_in_round(self, setting: Setting) -> int:
        """Return the number of windows of one round, in whole batches."""
        return -(-self.n_windows // setting.batch) * setting.batch


MIN_S = 60  # for which a model is timed at each setting, on 1,024 windows at least
FULL = Plan(n_rounds=32, n_windows=32, min_s=MIN_S / 32, quick=False)
QUICK = Plan(n_rounds=8, n_windows=8, min_s=0, quick=True)


def sample_windows(windows: Sequence[Window], n: int) -> list[Window]:
    """Take at most `n` windows at evenly spaced quantiles of length."""
    return spread_windows(windows, min(n, len(windows)))


def spread_windows(windows: Sequence[Window], n: int) -> list[Window]:
    """Take `n` windows at evenly spaced quantiles of length, shortest first; of fewer windows some
    repeatedly.
    """
    ordered = sorted(windows, key=lambda w: len(w.input_ids))
    return [ordered[int((i + 0.5) * len(ordered) / n)] for i in range(n)]


def rounds(n_rounds: int, n_windows: int, batch: int) -> list[list[int]]:
    """Return which of n_rounds * n_windows windows, shortest first, each round computes.

    One at a time, every round has windows of all lengths. In batches a round has neighbours in length, as a
    server that computes batches would group them. The order is shuffled: a slow minute of the machine affects
    all lengths.
    """
    order = np.random.default_rng(0).permutation(n_rounds)
    if batch == 1:
        return [list(range(int(first), n_rounds * n_windows, n_rounds)) for first in order]
    return [list(range(int(r) * n_windows, (int(r) + 1) * n_windows)) for r in order]


def percentiles(rounds_ms: Sequence[np.ndarray]) -> dict[str, float]:
    """Return p50, p90, p99 (each a measured time) and mean of all rounds, by the names of a Latency.

    Each round counts once: a quiet one has room for more passes, and would weigh more.
    """
    times = np.concatenate([times.ravel() for times in rounds_ms])
    weights = np.concatenate([np.full(times.size, 1 / times.size) for times in rounds_ms])
    p50, p90, p99 = np.percentile(times, [50, 90, 99], weights=weights, method="inverted_cdf")
    figures = {"p50": p50, "p90": p90, "p99": p99, "mean": np.average(times, weights=weights)}
    return {f"latency_ms_{name}": round(float(value), 4) for name, value in figures.items()}


def latency_figures(turns: Sequence[Mapping[str, Any]], setting: Setting, plan: Plan) -> dict[str, Any]:
    """Return the fields of a Latency from a model's turns at one setting.

    A turn has the `times_ms` (passes over its windows, calls) and the peak memory of one round. round_ms is
    the mean time of one window in each round. Single windows have percentiles, batches windows_per_s.
    """
    passes = [np.array(turn["times_ms"]) for turn in turns]
    n_windows = plan.windows_in_round(setting)
    round_ms = [round(float(times.sum(axis=1).mean()) / n_windows, 4) for times in passes]
    peaks = [turn["peak_memory_mb"] for turn in turns if turn.get("peak_memory_mb") is not None]
    figures: dict[str, Any] = {
        "n_runs": sum(times.size for times in passes),
        "n_warmup": sum(turn["n_warmup"] for turn in turns),
        "timed_s": round(sum(float(times.sum()) for times in passes) / 1e3, 1),
        "round_ms": tuple(round_ms),
        "peak_memory_mb": max(peaks, default=None),
        "peak_of_windows": True,
    }
    if setting.batch > 1:
        return figures | {"windows_per_s": round(1e3 / float(np.mean(round_ms)), 2)}
    return figures | percentiles(passes)
