"""Some of many, evenly chosen and without chance: the same ones wherever it is done."""

import numpy as np


def evenly(n: int, wanted: int, *, ends: bool = False) -> list[int]:
    """Indices of `wanted` of `n` items, ascending, from the middles of `wanted` equal parts; all where there
    are no more.

    With `ends` the first and the last item are among them.
    """
    if wanted >= n:
        return list(range(n))
    if ends:
        return [int(i) for i in np.linspace(0, n - 1, wanted).round()]
    return [int((i + 0.5) * n / wanted) for i in range(wanted)]
