"""Bootstrap over questions: how far a score, or a difference of two models' scores, moves with the questions
it was measured on.

Percentile intervals (Efron 1979). Questions are drawn with replacement, the same draws for all models, so a
difference is taken question by question (paired): what both models find hard then moves neither way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

N_RESAMPLES = 10_000
LEVEL = 0.95
MIN_ARTICLES = 10
_CHUNK_COUNTS = 4_000_000  # counts held at a time, some 100 MB with what it takes to make them


@dataclass(frozen=True)
class Interval:
    """A mean, and the interval that holds it at LEVEL."""

    mean: float
    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        """Whether 0 lies in the interval."""
        return self.low <= 0 <= self.high


def resampled_means(values: np.ndarray, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> np.ndarray:
    """Means of `n_resamples` draws of Q out of Q questions: values (Q,) -> (R,), or (Q, K) -> (R, K).

    ValueError when there are no questions, or a value is not finite.
    """
    values = np.asarray(values, np.float64)
    n = len(values)
    if n == 0 or not np.isfinite(values).all():
        raise ValueError(f"a bootstrap needs finite values of one question at least, got {n} questions")
    rng = np.random.default_rng(seed)
    means = []
    rows_at_once = max(1, _CHUNK_COUNTS // n)
    for first in range(0, n_resamples, rows_at_once):
        rows = min(rows_at_once, n_resamples - first)
        drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(
            rows, n
        )  # how often each question was drawn
        means.append(counts @ values / n)
    return np.concatenate(means)


def interval(values: np.ndarray, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Interval:
    """The mean of values (Q,) with its percentile interval."""
    low, high = np.quantile(
        resampled_means(values, n_resamples=n_resamples, seed=seed), [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    )
    return Interval(float(np.mean(values)), float(low), float(high))


def paired_difference(
    ours: np.ndarray, theirs: np.ndarray, *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> Interval:
    """Mean of ours - theirs with its interval; both (Q,), of the same questions in the same order. ValueError
    otherwise."""
    ours = np.asarray(ours, np.float64)
    theirs = np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape or ours.ndim != 1:
        raise ValueError(
            f"a paired difference needs the same questions on both sides, got shapes {ours.shape}, "
            f"{theirs.shape}"
        )
    return interval(ours - theirs, n_resamples=n_resamples, seed=seed)


def article_interval(values: np.ndarray, articles: Sequence[str]) -> tuple[float, float] | None:
    """Ends of the interval of the mean of values (Q,) when whole articles are drawn: questions on one are not
    independent.

    None with fewer than MIN_ARTICLES, of which an interval would mean little.
    """
    names, index = np.unique(articles, return_inverse=True)
    if len(names) < MIN_ARTICLES:
        return None
    sums = np.stack(
        [np.bincount(index, weights=values), np.bincount(index)], axis=1
    )  # (A, 2): of the values, of the questions
    drawn = resampled_means(sums)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def intervals(
    values: np.ndarray, baseline: int | None = None
) -> tuple[list[Interval], list[Interval | None]]:
    """Intervals of K models' means, and of their ratios to the mean of the model in column `baseline`.

    Shape: values (Q, K), all models on the same questions: a ratio is taken draw by draw (paired). Ratios are
    None without a baseline, and where a draw leaves it nothing to divide by.
    """
    means = np.mean(values, axis=0)
    drawn = resampled_means(values)
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    found = [Interval(float(m), *map(float, np.quantile(drawn[:, k], ends))) for k, m in enumerate(means)]
    if baseline is None or not (drawn[:, baseline] > 0).all():
        return found, [None] * len(found)
    ratios = drawn / drawn[:, [baseline]]
    of = means / means[baseline]
    return found, [Interval(float(r), *map(float, np.quantile(ratios[:, k], ends))) for k, r in enumerate(of)]
