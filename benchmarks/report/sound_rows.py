"""The rows that a page shows: those of a file that are sound, and of them those whose bundle is still what was measured."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.rows import CUDA, OK, PHONE, Row, RowsError, parse_row, row_lines
from benchmarks.views.groups import is_batched
from qa.bundle import Bundle, open_bundle
from qa.cli import one_line
from qa.errors import BundleError

TEXTS = (
    "model", "bundle_sha256", "stage", "precision", "runtime", "target", "machine", "baseline", "baseline_sha256",
    "same_answers_as", "peer", "parent_sha256", "governor", "command", "date", "status",
)  # fmt: skip
FIGURES = (
    "threads", "batch", "params", "params_without_embeddings", "size_bytes", "n", "n_windows", "exact", "f1", "f1_retained",
    "same_answers", "n_runs", "tokenize_ms_p50", "decode_ms_p50", "load_ms", "peak_memory_mb", "memory_growth_mb", "other_load",
    "instructions_per_window", "f1_low", "f1_high", "f1_retained_low", "f1_retained_high", "null_threshold", "timed_s",
    "load_average",
)  # fmt: skip
POSITIVE = ("params", "params_without_embeddings", "size_bytes", "instructions_per_window")  # and latencies
MAY_BE_ZERO = "latency_ms_std"
LONGEST_VALUE = 60  # characters of a wrong value that are repeated
TIMED = ("lengths", "threads", "n_runs", "latency_ms_mean")  # what a row with a latency has in any case
TIMED_HERE = ("latency_ms_p90", "latency_ms_p99")  # and, unless a phone's tool did not tell them


def sound_rows(path: Path) -> tuple[list[Row], list[str]]:
    """The rows of a file, oldest first, and a line about each line of it that is no row of today's form and is left out.

    RowsError when there is no such file or no sound row in it.
    """
    rows, faults = [], []
    for line, where in row_lines(path):
        try:
            row = parse_row(line, where)
            _check_values(row, where)
        except RowsError as error:
            faults.append(f"left out: {one_line(error)}")
        else:
            rows.append(row)
    if not rows:
        raise RowsError(f"{path}: holds no result row ({faults[0] if faults else 'it is empty'}); measure something first")
    return rows, faults


def _check_values(row: Row, where: str) -> None:
    """RowsError when a value is not of the kind that today's rows have, or one that belongs to the others is missing."""
    for key in TEXTS:
        if key in row and not _is_text(row[key]):
            raise RowsError(f"{where}: {key} must be a text, got {row[key]!r}; measure again")
    if "data" in row and not (isinstance(row["data"], dict) and all(_is_text(row["data"].get(k)) for k in ("name", "sha256"))):
        raise RowsError(f"{where}: data must have a name and a sha256, got {row['data']!r}; measure again")
    for key in (key for key in row if key in FIGURES or key.startswith("latency_ms_")):
        value = row[key]
        if not _is_number(value):
            raise RowsError(f"{where}: {key} must be a number, got {repr(value)[:LONGEST_VALUE]}; measure again")
        positive = key in POSITIVE or key.startswith("latency_ms_")
        if positive and key != MAY_BE_ZERO and value <= 0:
            raise RowsError(f"{where}: {key} must be above 0, got {value!r}; measure again")
    _check_lists(row, where)
    if not isinstance(row.get("lengths", ""), int | str):
        raise RowsError(f"{where}: lengths must be a length in tokens or a text, got {row['lengths']!r}; measure again")
    wanted: tuple[str, ...] = ("runtime",) if row["status"] == OK else ()
    if "latency_ms_p50" in row:
        wanted += TIMED + (() if row["target"] == PHONE else TIMED_HERE)
    lacking = [key for key in wanted if key not in row]
    if lacking:
        raise RowsError(f"{where} is a row of an older form, it lacks {', '.join(lacking)}; measure again")


def _check_lists(row: Row, where: str) -> None:
    """RowsError when a list, a mapping or a mark of a timed row is not of the kind that today's rows have."""
    rounds, cores, versions = row.get("round_ms", []), row.get("affinity", []), row.get("versions", {})
    if not isinstance(rounds, list) or not all(_is_number(value) and value > 0 for value in rounds):
        raise RowsError(f"{where}: round_ms must be a list of numbers above 0, got {repr(rounds)[:LONGEST_VALUE]}; measure again")
    if not isinstance(cores, list) or not all(isinstance(core, int) for core in cores):
        raise RowsError(f"{where}: affinity must be a list of cores, got {repr(cores)[:LONGEST_VALUE]}; measure again")
    if not isinstance(versions, dict) or not all(map(_is_text, versions.values())):
        raise RowsError(f"{where}: versions must name packages, got {repr(versions)[:LONGEST_VALUE]}; measure again")
    if not isinstance(row.get("quick", False), bool):
        raise RowsError(f"{where}: quick must be true or absent, got {row['quick']!r}; measure again")
    if is_batched(row) and not (_is_number(row["windows_per_s"]) and row["windows_per_s"] > 0):
        raise RowsError(f"{where}: windows_per_s must be above 0, got {row['windows_per_s']!r}; measure again")


def _is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _is_text(value: Any) -> bool:
    """Whether it is a text that can be written as UTF-8."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def rows_of_bundles(rows: Sequence[Row], paths: Sequence[Path]) -> tuple[list[Row], list[str]]:
    """The rows of these bundles and of what other tools made of them, and a line about each that is broken or has changed since.

    BundleError when none is left.
    """
    unchanged, faults = set(), []
    for path in paths:
        try:
            bundle = open_bundle(path)
        except BundleError as error:
            faults.append(f"left out: {one_line(error)}")
            continue
        if any(row["bundle_sha256"] == bundle.sha256 for row in rows):
            unchanged.add(bundle.sha256)
        else:
            faults.append(_changed(bundle, rows))
    if not unchanged:
        raise BundleError(faults[0])
    # What peers make of a bundle, and its other precisions on a GPU, have hashes of their own.
    made = [row for row in rows if ("peer" in row or row["target"] == CUDA) and row.get("parent_sha256") in unchanged]
    known = unchanged.union(row["bundle_sha256"] for row in made)
    return [row for row in rows if row["bundle_sha256"] in known], faults


def _changed(bundle: Bundle, rows: Sequence[Row]) -> str:
    """What is wrong with a bundle that no row was measured on."""
    name = bundle.path.resolve().name
    measured = [row["bundle_sha256"] for row in rows if row["model"].split("/")[-1] == name]
    if not measured:
        return f"left out: {bundle.path} ({bundle.sha256[:16]}): was not measured; compare it first, without --report"
    changed = f"has changed since its rows (it is {bundle.sha256[:16]}, they are of {measured[-1][:16]})"
    return f"left out: {bundle.path}: {changed}; compare it again, without --report"
