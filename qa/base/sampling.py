"""Choose evenly spaced items, without random numbers."""

import numpy as np


def evenly(n: int, wanted: int, *, ends: bool = False) -> list[int]:
    """Return ascending indices of `wanted` of `n` items: the middles of equal parts, or all when n is less.

    With `ends` the first and the last item are included.
    """
    if wanted >= n:
        return list(range(n))
    if ends:
        return [int(i) for i in np.linspace(0, n - 1, wanted).round()]
    return [int((i + 0.5) * n / wanted) for i in range(wanted)]
