"""Probe: real windows with the logits of PyTorch, to detect a runtime that computes a model wrongly.

Old runtimes load a file with newer operators without an error and return wrong logits; only computing shows
it. Each signature of a fixed length is a graph of its own, and the probe has a window for each.
"""

import json
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from qa.base.errors import BundleError
from qa.formats.package import Probe, ProbeWindow
from qa.formats.precision import PRECISIONS


def write_probe(windows: Sequence[ProbeWindow], tolerance: Mapping[str, float] | None = None) -> str:
    """Return a probe as JSON, logits to six digits; `tolerance` defaults to that of each precision."""
    rows = [
        {
            "input_ids": list(map(int, w.input_ids)),
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
        return msgspec.json.decode(text, type=Probe)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise BundleError(f"{where}: not a valid probe ({error}); make the bundle again") from None


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


def relative_difference(reference: np.ndarray | Sequence[float], logits: np.ndarray) -> float:
    """Return the root-mean-square difference in standard deviations of `reference`.

    Infinite when `logits` has NaN.
    """
    difference = float(np.sqrt(np.mean((np.asarray(logits, np.float64) - reference) ** 2)))
    return difference / max(float(np.std(reference)), 1e-6) if np.isfinite(difference) else float("inf")
