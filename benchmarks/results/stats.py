"""Intervals of scores over articles, of ratios of times over rounds, and Student's t."""

from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np

from benchmarks.results.rows import Latency
from qa.evaluation.bootstrap import LEVEL, MIN_ARTICLES, N_RESAMPLES, Interval, intervals, resampled_means

MIN_ROUNDS = (
    5  # even the whole range of fewer rounds holds the median less often than at 95 % (1 - 2 ** (1 - n))
)
ENDS = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
Resampled = Literal["articles", "questions"]
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


def resampled_scores(
    scores: np.ndarray, articles: Sequence[str], n_resamples: int = N_RESAMPLES
) -> tuple[np.ndarray, Resampled]:
    """Means of draws of whole articles, or of questions where articles are fewer than MIN_ARTICLES: scores
    (Q, K) -> (R, K)."""
    names, index = np.unique(articles, return_inverse=True)
    if len(names) < MIN_ARTICLES:
        return resampled_means(scores, n_resamples=n_resamples), "questions"
    columns = [*scores.T, np.ones(len(scores))]
    sums = np.stack([np.bincount(index, weights=column) for column in columns], axis=1)  # (A, K + 1)
    drawn = resampled_means(sums, n_resamples=n_resamples)
    return drawn[:, :-1] / drawn[:, [-1]], "articles"


def score_intervals(
    scores: np.ndarray, articles: Sequence[str], baseline: int | None = None, n_resamples: int = N_RESAMPLES
) -> tuple[list[Interval], list[Interval | None], Resampled]:
    """Intervals of K models' mean scores (Q, K) and of their ratios to the model in column `baseline`, draw
    by draw (paired)."""
    drawn, over = resampled_scores(scores, articles, n_resamples)
    means = scores.mean(axis=0)
    own = [_interval(mean, drawn[:, k]) for k, mean in enumerate(means)]
    if baseline is None or not (drawn[:, baseline] > 0).all():
        return own, [None] * len(own), over
    ratios = drawn / drawn[:, [baseline]]
    return own, [_interval(mean / means[baseline], ratios[:, k]) for k, mean in enumerate(means)], over


def score_interval(scores: np.ndarray, articles: Sequence[str]) -> Interval:
    """The mean of scores (Q,), or of differences of two models' scores, with its interval."""
    return score_intervals(scores[:, None], articles)[0][0]


def _interval(mean: float, drawn: np.ndarray) -> Interval:
    return Interval(float(mean), *map(float, np.quantile(drawn, ENDS)))


def same_run(one: Latency, other: Latency) -> bool:
    """Whether both were measured by one command, on one machine."""
    return (one.date, one.machine, one.target) == (other.date, other.machine, other.target)


def round_ratio(base: Latency, own: Latency) -> Interval | None:
    """Mean time of `base` divided by that of `own`, with a bootstrap over rounds, the same draws for both
    (paired).

    A round that the machine was slow in thus slows both. None where the two did not take turns: another run,
    threads or batch, or not the same number of rounds, or fewer than MIN_ROUNDS.
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
    """How many times as fast `own` is as `base` by mean times, with its interval where there are rounds; None
    in another run."""
    paired = round_ratio(base, own)
    if paired is not None or not same_run(base, own):
        return paired
    if base.latency_ms_mean is None or own.latency_ms_mean is None:
        return None
    return base.latency_ms_mean / own.latency_ms_mean


def mean_of(value: Interval | float | None) -> float | None:
    """A figure without its interval."""
    return value.mean if isinstance(value, Interval) else value


def t_quantile(freedom: int) -> float:
    """Student's t that 95 % stay below in magnitude."""
    return T_QUANTILES[max(known for known in T_QUANTILES if known <= freedom)]
