"""Bootstrap intervals of scores, of their differences and of their ratios: percentile intervals (Efron 1979).

Articles, or questions where there are few articles, are drawn with replacement. The draws are the same for
all models, so differences and ratios are paired: what all models find hard does not widen them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

N_RESAMPLES = 10_000
LEVEL = 0.95
MIN_ARTICLES = 10
MIN_QUESTIONS = 10
"""Fewest questions with an interval. Draws of fewer look alike by chance."""
ENDS = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
Resampled = Literal["articles", "questions"]
_CHUNK_COUNTS = 4_000_000  # counts in memory at a time: about 100 MB with intermediate arrays


@dataclass(frozen=True)
class Interval:
    """Mean with the ends of its interval at LEVEL."""

    mean: float
    low: float
    high: float


def resampled_means(values: np.ndarray, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> np.ndarray:
    """Return the means of `n_resamples` draws of Q out of Q questions: (Q,) -> (R,), or (Q, K) -> (R, K).

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
        # (rows, Q): how often each question was drawn
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        means.append(counts @ values / n)
    return np.concatenate(means)


def _interval(mean: float, drawn: np.ndarray) -> Interval:
    low, high = np.quantile(drawn, ENDS)
    return Interval(float(mean), float(low), float(high))


def intervals(
    values: np.ndarray, baseline: int | None = None
) -> tuple[list[Interval], list[Interval | None]]:
    """Return intervals of K models' means, and of their ratios to the model in column `baseline`.

    values: (Q, K), all models on the same questions or rounds. Ratios are None without a baseline, and where
    a draw leaves it nothing to divide by.
    """
    drawn = resampled_means(values)
    return _mean_intervals(np.mean(values, axis=0), drawn, baseline)


def _mean_intervals(
    means: np.ndarray, drawn: np.ndarray, baseline: int | None
) -> tuple[list[Interval], list[Interval | None]]:
    """Return the intervals of means (K,), drawn as (R, K), and of their ratios to `baseline`."""
    of_means = [_interval(mean, drawn[:, k]) for k, mean in enumerate(means)]
    if baseline is None or not (drawn[:, baseline] > 0).all():
        return of_means, [None] * len(of_means)
    ratios = drawn / drawn[:, [baseline]]
    return of_means, [_interval(mean / means[baseline], ratios[:, k]) for k, mean in enumerate(means)]


def numbered(articles: Sequence[str]) -> np.ndarray:
    """Return the number (Q,) of each question's article; names in an array take the width of the longest."""
    numbers = {name: number for number, name in enumerate(sorted(set(articles)))}
    return np.array([numbers[name] for name in articles])


def score_intervals(
    scores: np.ndarray, articles: Sequence[str], baseline: int | None = None
) -> tuple[list[Interval], list[Interval | None], Resampled]:
    """Return the `intervals` of K models' scores (Q, K) over articles, and what was drawn.

    Questions on one article are not independent, so whole articles are drawn. With fewer than MIN_ARTICLES an
    interval over them would mean little, and questions are drawn.
    """
    index = numbered(articles)
    if index.max() + 1 < MIN_ARTICLES:
        return *intervals(scores, baseline), "questions"
    columns = [*scores.T, np.ones(len(scores))]
    sums = np.stack([np.bincount(index, weights=column) for column in columns], axis=1)  # (A, K + 1)
    drawn = resampled_means(sums)
    return *_mean_intervals(scores.mean(axis=0), drawn[:, :-1] / drawn[:, [-1]], baseline), "articles"


def score_interval(scores: np.ndarray, articles: Sequence[str]) -> tuple[Interval, Resampled]:
    """Return the mean of scores (Q,), or of differences of scores, with its interval, and what was drawn."""
    (found,), _, resampled = score_intervals(scores[:, None], articles)
    return found, resampled
