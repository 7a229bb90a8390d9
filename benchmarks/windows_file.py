"""The file of windows that `benchmarks/runner.py` reads, on this machine or another."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def write_windows(path: Path, windows: Sequence[tuple[np.ndarray, int]], weights_sha256: str) -> Path:
    """Write the runner's windows file from (input_ids (T,), context_begin) of each window."""
    np.savez(
        path,
        weights_sha256=np.array(weights_sha256),
        n_tokens=np.array([len(ids) for ids, _ in windows], np.int32),
        context_begin=np.array([begin for _, begin in windows], np.int32),
        input_ids=np.concatenate([ids for ids, _ in windows]).astype(np.int32),
    )
    return path
