"""The probe: a few real windows with the logits PyTorch gave, to catch a runtime that computes a model wrongly.

Old runtimes load a file of newer operators without complaint and return garbage; only computing shows it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qa.errors import BundleError, ProbeError

Compute = Callable[[dict[str, np.ndarray]], tuple[np.ndarray, np.ndarray]]

# Largest root-mean-square difference from PyTorch's logits, relative to their own deviation within a window. A correct
# runtime reaches a tenth of these or less for float weights and a quarter for int8 (other CPUs round differently, by
# about 0.01); a wrong one lands near or above 1, as far off as unrelated logits.
PROBE_TOLERANCE = {"fp32": 1e-3, "fp16": 2e-2, "int8": 0.25, "int8-weights": 0.25}


@dataclass(frozen=True)
class ProbeWindow:
    """One recorded window: its tokens, where its context begins, and PyTorch's logits, each (T,)."""

    input_ids: np.ndarray
    context_begin: int
    start_logits: np.ndarray
    end_logits: np.ndarray


def write_probe(windows: Sequence[ProbeWindow]) -> str:
    """The probe as JSON, logits to six digits."""
    rows = [
        {
            "input_ids": w.input_ids.tolist(),
            "context_begin": w.context_begin,
            "start_logits": [float(f"{x:.6g}") for x in w.start_logits],
            "end_logits": [float(f"{x:.6g}") for x in w.end_logits],
        }
        for w in windows
    ]
    return json.dumps({"tolerance": PROBE_TOLERANCE, "windows": rows})


def read_probe(text: str, where: str) -> list[ProbeWindow]:
    """Parse what `write_probe` wrote; BundleError names `where` when it is something else."""
    try:
        rows: list[dict[str, Any]] = json.loads(text)["windows"]
        windows = [
            ProbeWindow(
                np.array(row["input_ids"], np.int32),
                int(row["context_begin"]),
                np.array(row["start_logits"], np.float32),
                np.array(row["end_logits"], np.float32),
            )
            for row in rows
        ]
        if not windows or any(not (w.input_ids.shape == w.start_logits.shape == w.end_logits.shape) for w in windows):
            raise ValueError("no windows, or lengths that differ")
    except (ValueError, KeyError, TypeError) as error:
        raise BundleError(f"{where}: not a valid probe ({error!r}); make the bundle again") from None
    return windows


def relative_difference(reference: np.ndarray, seen: np.ndarray) -> float:
    """Root-mean-square difference divided by the reference's standard deviation; infinite when `seen` has NaN."""
    difference = float(np.sqrt(np.mean((np.asarray(seen, np.float64) - reference) ** 2)))
    return difference / max(float(np.std(reference)), 1e-6) if np.isfinite(difference) else float("inf")


def check_probe(runtime: Any, probe: Sequence[ProbeWindow], precision: str) -> float:
    """Run the probe; the largest relative difference, or ProbeError when it exceeds the precision's tolerance."""
    from qa.runtimes import run_length

    tolerance, worst = PROBE_TOLERANCE[precision], 0.0
    for window in probe:
        n = len(window.input_ids)
        shape = (1, run_length(runtime, n))
        ids, mask, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        ids[0, :n], mask[0, :n], types[0, window.context_begin : n] = window.input_ids, 1, 1
        start, end = runtime({"input_ids": ids, "attention_mask": mask, "token_type_ids": types})
        worst = max(
            worst,
            relative_difference(window.start_logits, start[0, :n]),
            relative_difference(window.end_logits, end[0, :n]),
        )
    if not worst <= tolerance:
        raise ProbeError(
            f"{runtime.name} computes this {precision} model wrongly: its logits differ from PyTorch's by {worst:.3g} of their "
            f"deviation, at most {tolerance:g} is allowed; use another runtime or version"
        )
    return worst
