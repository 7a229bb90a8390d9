"""The table of what was computed on other targets: is it the same as here, and what does it cost there."""

from collections.abc import Sequence

from benchmarks.rows import OK, Row
from benchmarks.views.cells import Table, number
from benchmarks.views.groups import Group

HEADINGS = (
    "model", "target", "runtime", "precision", "questions", "windows", "EM", "F1", "F1 ref", "max diff", "same spans",
    "M instructions", "ms p50",
)  # fmt: skip
NOTES = (
    "max diff: largest difference of a logit from the reference, that runtime with the same windows and file; "
    "same spans: windows with the same best span; F1 ref: the reference's F1",
    "M instructions: millions a window, mean, in the runtime call at 1 thread; ms: median of that call, 1 thread, real lengths",
)


def arm_tables(groups: Sequence[Group]) -> list[Table]:
    """One table a data set, a line for each model and target, from their newest rows."""
    titles = {row["data"]["sha256"]: row["data"]["name"] for group in groups if not group.on_phone for row in group.rows}
    tables = []
    for sha256, title in titles.items():
        rows = [row for group in groups if not group.on_phone for row in group.rows if row["data"]["sha256"] == sha256]
        newest: dict[tuple[str, str], Row] = {}
        timed: dict[tuple[str, str], Row] = {}
        for row in rows:
            key = (row["model"], row["target"])
            if "parity_max_abs" in row or (row["target"].startswith(("ssh:", "qemu:")) and row["status"] != OK):
                newest[key] = row
            if row.get("lengths") == "real" and row.get("threads") == 1:
                timed[key] = row
        if newest:
            cells = tuple(_cells(row, timed.get(key)) for key, row in newest.items())
            machines = dict.fromkeys(f"{row['target']}: {row['machine']}" for row in newest.values() if "runtime" in row)
            references = dict.fromkeys(f"reference: {row['reference']}" for row in newest.values() if "reference" in row)
            failures = [
                f"{row['model']} on {row['target']} failed: {row['status']}" for row in newest.values() if row["status"] != OK
            ]
            tables.append(Table(title, HEADINGS, cells, (*NOTES, *machines, *references, *failures), n_left=4))
    return tables


def _cells(row: Row, timed: Row | None) -> tuple[str, ...]:
    same_file = timed is not None and timed["bundle_sha256"] == row["bundle_sha256"]
    return (
        row["model"], row["target"], row.get("runtime", "–"), row["precision"],
        number(row.get("n"), ",.0f"), number(row.get("n_windows"), ",.0f"),
        *(number(row.get(key)) for key in ("exact", "f1", "reference_f1")),
        number(row.get("parity_max_abs"), ".2g"), number(row.get("same_spans"), ".1f", 100, "%"),
        number(row.get("instructions_per_window"), ",.1f", 1e-6),
        number(timed.get("latency_ms_p50") if timed is not None and same_file else None, ".1f"),
    )  # fmt: skip
