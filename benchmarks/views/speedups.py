"""How many times as fast one row is as another, with its interval over the rounds in which the models of a run took turns."""

import numpy as np

from benchmarks.rows import Row
from qa.bootstrap import Interval, intervals

MEAN = "latency_ms_mean"
MIN_ROUNDS = 5  # even the whole range of fewer rounds holds the median less often than at 95 % (1 - 2 ** (1 - n))
ONE_RUN = ("date", "machine")  # what rows of one run share


def same_run(one: Row, other: Row) -> bool:
    """Whether both were measured by one command, on one machine."""
    return all(one.get(key) is not None and one.get(key) == other.get(key) for key in ONE_RUN)


def round_ratio(base: Row, own: Row) -> Interval | None:
    """Mean time of `base` divided by that of `own`, with a bootstrap over rounds, the same draws for both (paired).

    A round that the machine was slow in thus slows both. None where the two did not take turns in one run: other dates, machines,
    threads or batches, or not the same number of rounds, or fewer than MIN_ROUNDS.
    """
    pair = [row.get("round_ms") or () for row in (own, base)]
    n_rounds = len(pair[0])
    in_turns = same_run(base, own) and all(base.get(key) == own.get(key) for key in ("threads", "batch"))
    if not in_turns or len(pair[1]) != n_rounds or n_rounds < MIN_ROUNDS:
        return None
    return intervals(np.array(pair).T, baseline=0)[1][1]


def ratio(base: Row, own: Row, figure: str = MEAN) -> float | None:
    """How many times as fast `own` is as `base`, by its rounds or, where there are none, by `figure`; None in another run."""
    if not same_run(base, own):
        return None
    paired = round_ratio(base, own) if figure == MEAN else None
    if paired is not None:
        return paired.mean
    return float(base[figure] / own[figure]) if figure in base and figure in own else None
