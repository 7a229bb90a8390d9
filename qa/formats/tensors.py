"""Input and output tensors of every runtime, and padding of windows.

Benchmarks copy this file to boards: it runs on any Python from 3.9 with numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("start_logits", "end_logits")
Inputs = dict[str, np.ndarray]
Logits = tuple[np.ndarray, np.ndarray]


def padded_inputs(windows: Sequence[Any], context_begin: Sequence[int], length: int) -> Inputs:
    """Pad windows of at most T = `length` tokens to inputs, (B, T) int64 each.

    Token types are 0 for the question, 1 from `context_begin` on for the context, 0 for padding.
    """
    shape = (len(windows), length)
    ids, mask, types = (np.zeros(shape, np.int64) for _ in INPUTS)
    for row, window in enumerate(windows):
        n = len(window)
        ids[row, :n], mask[row, :n], types[row, context_begin[row] : n] = window, 1, 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
