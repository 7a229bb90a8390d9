"""The rows that a page shows: those of a file that are sound, and of them those whose bundle is still what was measured."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.rows import CUDA, Row, RowsError, parse_row, row_lines
from qa.bundle import Bundle
from qa.checkpoints import open_model
from qa.cli import one_line
from qa.errors import BundleError


def sound_rows(path: Path) -> tuple[list[Row], list[str]]:
    """The rows of a file, oldest first, and a line about each line of it that is no row of today's form and is left out.

    RowsError when there is no such file or no sound row in it.
    """
    rows, faults = [], []
    for line, where in row_lines(path):
        try:
            rows.append(parse_row(line, where))
        except RowsError as error:
            faults.append(f"left out: {one_line(error)}")
    if not rows:
        raise RowsError(f"{path}: holds no result row ({faults[0] if faults else 'it is empty'}); measure something first")
    return rows, faults


def rows_of_bundles(rows: Sequence[Row], paths: Sequence[Path]) -> tuple[list[Row], list[str]]:
    """The rows of these bundles and of what other tools made of them, and a line about each that is broken or has changed since.

    BundleError when none is left.
    """
    unchanged, faults = set(), []
    for path in paths:
        try:
            bundle = open_model(path)
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
