"""What is wrong with a result row, if anything is: values of a kind that no command of today writes."""

import math
from collections.abc import Mapping
from typing import Any

TEXTS = (
    "model", "bundle_sha256", "stage", "precision", "runtime", "target", "machine", "baseline", "baseline_sha256",
    "same_answers_as", "peer", "parent_sha256", "governor", "command", "date", "status",
)  # fmt: skip
FIGURES = (
    "threads", "batch", "params", "params_without_embeddings", "size_bytes", "n", "n_windows", "exact", "f1", "f1_retained",
    "same_answers", "n_runs", "tokenize_ms_p50", "decode_ms_p50", "load_ms", "peak_memory_mb", "memory_growth_mb", "other_load",
    "instructions_per_window", "f1_low", "f1_high", "f1_retained_low", "f1_retained_high", "null_threshold", "timed_s",
    "load_average", "windows_per_s",
)  # fmt: skip
POSITIVE = ("params", "params_without_embeddings", "size_bytes", "instructions_per_window", "windows_per_s")  # and latencies
MAY_BE_ZERO = "latency_ms_std"
LONGEST_VALUE = 60  # characters of a wrong value that are repeated
TIMED = ("lengths", "threads", "n_runs", "latency_ms_mean")  # what a row with a latency has in any case
TIMED_HERE = ("latency_ms_p90", "latency_ms_p99")  # and, unless a phone's tool did not tell them


def fault_of(row: Mapping[str, Any], *, succeeded: bool, on_phone: bool) -> str | None:
    """The first thing that is wrong with a row that has all required keys; None when nothing is."""
    for key in TEXTS:
        if key in row and not _is_text(row[key]):
            return f"{key} must be a text, got {_short(row[key])}"
    data = row.get("data")
    if "data" in row and not (isinstance(data, dict) and all(_is_text(data.get(key)) for key in ("name", "sha256"))):
        return f"data must have a name and a sha256, got {_short(data)}"
    for key in (key for key in row if key in FIGURES or key.startswith("latency_ms_")):
        if not _is_number(row[key]):
            return f"{key} must be a number, got {_short(row[key])}"
        positive = key in POSITIVE or key.startswith("latency_ms_")
        if positive and key != MAY_BE_ZERO and row[key] <= 0:
            return f"{key} must be above 0, got {_short(row[key])}"
    wanted: tuple[str, ...] = ("runtime",) if succeeded else ()
    if "latency_ms_p50" in row:
        wanted += TIMED + (() if on_phone else TIMED_HERE)
    lacking = [key for key in wanted if key not in row]
    return _fault_of_lists(row) or (f"it is of an older form and lacks {', '.join(lacking)}" if lacking else None)


def _fault_of_lists(row: Mapping[str, Any]) -> str | None:
    """As `fault_of`, of lengths, lists, mappings and marks."""
    lengths, rounds, cores = row.get("lengths", "real"), row.get("round_ms", []), row.get("affinity", [])
    if lengths != "real" and not (isinstance(lengths, int) and lengths > 0):
        return f"lengths must be real or a length in tokens, got {_short(lengths)}"
    if not isinstance(rounds, list) or not all(_is_number(value) and value > 0 for value in rounds):
        return f"round_ms must be a list of numbers above 0, got {_short(rounds)}"
    if not isinstance(cores, list) or not all(isinstance(core, int) for core in cores):
        return f"affinity must be a list of cores, got {_short(cores)}"
    versions = row.get("versions", {})
    if not isinstance(versions, dict) or not all(map(_is_text, versions.values())):
        return f"versions must name packages, got {_short(versions)}"
    if not isinstance(row.get("quick", False), bool):
        return f"quick must be true or absent, got {_short(row['quick'])}"
    return None


def _short(value: Any) -> str:
    return repr(value)[:LONGEST_VALUE]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
