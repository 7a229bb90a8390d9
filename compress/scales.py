"""Scales for few bits: clipping the largest weights leaves finer steps to all others."""

import numpy as np

# Bounds tried, as shares of a row's largest magnitude. In a wide row one far weight is best cut to a third.
SHARES = np.linspace(0.2, 1, 41, dtype=np.float32)


def least_squares_bounds(weight: np.ndarray, bits: int) -> np.ndarray:
    """Return where to clip each row of (R, C) for the least squared error of its `bits` integers: (R, 1)
    float32.

    The integers are symmetric. A row's scale is its bound / (2 ** (bits - 1) - 1): the min/max scale of the
    clipped row. A row of zeros has the bound 0.
    """
    steps = np.float32(2 ** (bits - 1) - 1)
    largest = np.abs(weight).max(axis=1, keepdims=True)
    best = largest
    least = np.full_like(largest, np.inf)
    for bound in (share * largest for share in SHARES[::-1]):
        scale = np.where(bound > 0, bound / steps, 1)
        rounded = np.clip(np.round(weight / scale), -steps, steps) * scale
        error = np.square(rounded - weight).sum(axis=1, keepdims=True)
        best = np.where(error < least, bound, best)
        least = np.minimum(error, least)
    return best
