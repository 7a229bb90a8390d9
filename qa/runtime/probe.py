"""Probe: real windows with the logits of PyTorch, to detect a runtime that computes a model wrongly.

Old runtimes load a file with newer operators without an error and return wrong logits; only computing shows
it. Each signature of a fixed length is a graph of its own, and the probe has a window for each.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qa.base.errors import BundleError
from qa.formats.precision import PRECISIONS


@dataclass(frozen=True)
class ProbeWindow:
    """Recorded window: its tokens, where its context begins, and the logits of PyTorch, (T,) each."""

    input_ids: np.ndarray
    context_begin: int
    start_logits: np.ndarray
    end_logits: np.ndarray


@dataclass(frozen=True)
class Probe:
    """Recorded windows, and the largest difference allowed."""

    windows: Sequence[ProbeWindow]
    tolerance: Mapping[str, float]
    """Largest root-mean-square difference by precision, in standard deviations of the logits within a
    window."""

    def allowed(self, precision: str) -> float:
        """Return the tolerance for a file of this precision, at most that of the precision itself."""
        most = PRECISIONS[precision].probe_tolerance
        return min(most, self.tolerance.get(precision, most))


def write_probe(windows: Sequence[ProbeWindow], tolerance: Mapping[str, float] | None = None) -> str:
    """Return a probe as JSON, logits to six digits; `tolerance` defaults to that of each precision."""
    rows = [
        {
            "input_ids": w.input_ids.tolist(),
            "context_begin": w.context_begin,
            "start_logits": [float(f"{x:.6g}") for x in w.start_logits],
            "end_logits": [float(f"{x:.6g}") for x in w.end_logits],
        }
        for w in windows
    ]
    tolerance = tolerance or {name: precision.probe_tolerance for name, precision in PRECISIONS.items()}
    return json.dumps({"tolerance": tolerance, "windows": rows})


def read_probe(text: str | bytes, where: str) -> Probe:
    """Parse the text of `write_probe`; BundleError names `where` when it is invalid."""
    try:
        probe: dict[str, Any] = json.loads(text)
        windows = [
            ProbeWindow(
                np.array(row["input_ids"], np.int32),
                int(row["context_begin"]),
                np.array(row["start_logits"], np.float32),
                np.array(row["end_logits"], np.float32),
            )
            for row in probe["windows"]
        ]
        tolerance = {name: float(value) for name, value in probe.get("tolerance", {}).items()}
        alike = [w.input_ids.shape == w.start_logits.shape == w.end_logits.shape for w in windows]
        if not windows or not all(alike):
            raise ValueError("no windows, or lengths that differ")
        if not all(value > 0 for value in tolerance.values()):
            raise ValueError("a tolerance that is not above 0")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BundleError(f"{where}: not a valid probe ({error!r}); make the bundle again") from None
    return Probe(windows, tolerance)


def check_covers(windows: Sequence[ProbeWindow], lengths: Sequence[int], where: str) -> None:
    """Raise BundleError unless each length of a model is the smallest that fits one of the windows."""
    sizes = [len(w.input_ids) for w in windows]
    fitting = {min((length for length in lengths if length >= size), default=None) for size in sizes}
    missing = [length for length in lengths if length not in fitting]
    if missing:
        raise BundleError(
            f"{where}: has no window for the signature of {missing[0]} tokens, so nothing shows that it is "
            "computed rightly; export the model again"
        )


def relative_difference(reference: np.ndarray, logits: np.ndarray) -> float:
    """Return the root-mean-square difference in standard deviations of `reference`.

    Infinite when `logits` has NaN.
    """
    difference = float(np.sqrt(np.mean((np.asarray(logits, np.float64) - reference) ** 2)))
    return difference / max(float(np.std(reference)), 1e-6) if np.isfinite(difference) else float("inf")
