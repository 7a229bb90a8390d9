"""Ratios of times with intervals over rounds, by Student's t."""

from collections.abc import Sequence

import numpy as np

from benchmarks.results.rows import Latency
from qa.evaluation.bootstrap import Interval

MIN_ROUNDS = 5  # with fewer, the intervals are too wide to say anything
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


def speedup(base: Latency | None, own: Latency | None) -> Interval | float | None:
    """Divide the mean time of `base` by that of `own`; None when either is unknown or of another run.

    The interval is that of `paired_ratio`. There is none where the two did not take turns: other threads or
    batch, another number of rounds, or fewer than MIN_ROUNDS.
    """
    if base is None or own is None or not same_run(base, own):
        return None
    n_rounds = len(own.round_ms)
    in_turns = (base.threads, base.batch, len(base.round_ms)) == (own.threads, own.batch, n_rounds)
    if in_turns and n_rounds >= MIN_ROUNDS:
        return paired_ratio(base.round_ms, own.round_ms)
    if base.latency_ms_mean is None or own.latency_ms_mean is None:
        return None
    return base.latency_ms_mean / own.latency_ms_mean


def paired_ratio(one: Sequence[float], other: Sequence[float]) -> Interval:
    """Divide the mean of `one` by that of `other`, positive values of the same rounds.

    The interval is Student's t of the ratio's logarithm, linearized. A round in which the machine was slow
    slows both, and does not widen it. A bootstrap's intervals are too narrow where rounds are few.
    """
    values = np.array([one, other], np.float64)
    means = values.mean(axis=1)
    ratio = float(means[0] / means[1])
    n = values.shape[1]
    change = np.diff(values / means[:, None], axis=0)
    margin = float(t_quantile(n - 1) * change.std(ddof=1) / np.sqrt(n))
    return Interval(ratio, ratio * float(np.exp(-margin)), ratio * float(np.exp(margin)))


def mean_of(value: Interval | float | None) -> float:
    """Return a figure without its interval, 0 when it is unknown."""
    return value.mean if isinstance(value, Interval) else value or 0.0


def t_quantile(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t."""
    return T_QUANTILES[max(known for known in T_QUANTILES if known <= freedom)]
