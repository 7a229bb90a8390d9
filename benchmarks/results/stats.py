"""Ratios of times with intervals over rounds, and Student's t."""

from functools import cache

import numpy as np

from benchmarks.results.rows import Latency
from qa.evaluation.bootstrap import Interval, intervals

MIN_ROUNDS = (
    5  # even the whole range of fewer rounds holds the median less often than at 95 % (1 - 2 ** (1 - n))
)
# Two-sided 95 % quantiles of Student's t by degrees of freedom; between two of them the larger one, of fewer,
# is taken.
T_QUANTILES = {
    1: 12.71,
    2: 4.30,
    3: 3.18,
    4: 2.78,
    5: 2.57,
    6: 2.45,
    8: 2.31,
    10: 2.23,
    15: 2.13,
    20: 2.09,
    30: 2.04,
}


def same_run(one: Latency, other: Latency) -> bool:
    """Return whether both were measured by one command, on one machine."""
    return (one.date, one.machine, one.target) == (other.date, other.machine, other.target)


def round_ratio(base: Latency, own: Latency) -> Interval | None:
    """Divide the mean time of `base` by that of `own`, with a paired bootstrap over rounds.

    A round in which the machine was slow thus slows both. None where the two did not take turns: another run,
    threads or batch, another number of rounds, or fewer than MIN_ROUNDS.
    """
    in_turns = same_run(base, own) and (base.threads, base.batch) == (own.threads, own.batch)
    n_rounds = len(own.round_ms)
    if not in_turns or len(base.round_ms) != n_rounds or n_rounds < MIN_ROUNDS:
        return None
    return _paired_ratio(base.round_ms, own.round_ms)


@cache  # a page shows the same ratio in several tables
def _paired_ratio(base_ms: tuple[float, ...], own_ms: tuple[float, ...]) -> Interval | None:
    """Bootstrap the ratio of two models' times by round."""
    return intervals(np.array([own_ms, base_ms]).T, baseline=0)[1][1]


def speedup(base: Latency, own: Latency) -> Interval | float | None:
    """Return the speed-up of `own` over `base` by mean times, with its interval where there are rounds.

    None when the two are from different runs.
    """
    paired = round_ratio(base, own)
    if paired is not None or not same_run(base, own):
        return paired
    if base.latency_ms_mean is None or own.latency_ms_mean is None:
        return None
    return base.latency_ms_mean / own.latency_ms_mean


def mean_of(value: Interval | float | None) -> float | None:
    """Return a figure without its interval."""
    return value.mean if isinstance(value, Interval) else value


def t_quantile(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t."""
    return T_QUANTILES[max(known for known in T_QUANTILES if known <= freedom)]
