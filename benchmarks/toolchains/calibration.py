"""The file of real windows that a peer's quantization sees: on its way into the peer's own environment, so
numpy alone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np


def write_windows(path: Path, windows: Sequence[tuple[np.ndarray, int]]) -> Path:
    """Write windows (input_ids (T,), where the context begins)."""
    np.savez(
        path,
        n_tokens=np.array([len(ids) for ids, _ in windows], np.int32),
        context_begin=np.array([begin for _, begin in windows], np.int32),
        input_ids=np.concatenate([ids for ids, _ in windows]).astype(np.int32),
    )
    return path


def read_windows(path: Path) -> list[tuple[np.ndarray, int]]:
    """The windows that `write_windows` wrote."""
    with np.load(path, allow_pickle=False) as file:
        tokens = np.split(file["input_ids"], np.cumsum(file["n_tokens"])[:-1])
        return list(zip(tokens, map(int, file["context_begin"]), strict=True))
