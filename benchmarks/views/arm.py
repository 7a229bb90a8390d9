"""The table of what was computed on other targets: is it the same as here, and what does it cost there."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.rows import OK, Row
from benchmarks.views.cells import UNKNOWN, Table, marked, number, with_span
from benchmarks.views.groups import Group
from benchmarks.views.speedups import ratio, round_ratio

INSTRUCTIONS = "instructions_per_window"
HEADINGS = (
    "model", "target", "runtime", "precision", "questions", "windows", "EM", "F1", "F1 ref", "max diff", "same spans",
    "M instructions", "ms p50", "x fp32",
)  # fmt: skip
NOTES = (
    "max diff: largest difference of a logit from the reference, that runtime with the same windows and file; "
    "same spans: windows with the same best span; F1 ref: the reference's F1",
    "M instructions: millions a window, mean, in the runtime call at 1 thread; ms: median of that call, 1 thread, real lengths",
    "x fp32: how many times fewer instructions, or less time (mean, with its 95 % interval over rounds in turns), than the same "
    "model's fp32 file takes there in the same runtime",
)


@dataclass
class Line:
    """One model on one target: its newest row of answers, and that of its times, if there is one of the same file."""

    row: Row
    timed: Row | None

    @property
    def family(self) -> tuple[object, ...]:
        """What it has in common with the same model's files in other precisions."""
        return (self.row["target"], self.row.get("runtime"), self.row.get("parent_sha256", self.row["bundle_sha256"]))


def arm_tables(groups: Sequence[Group]) -> list[Table]:
    """One table a data set, a line for each model and target, from their newest rows."""
    titles = {row["data"]["sha256"]: row["data"]["name"] for group in groups if not group.on_phone for row in group.rows}
    tables = []
    for sha256, title in titles.items():
        rows = [row for group in groups if not group.on_phone for row in group.rows if row["data"]["sha256"] == sha256]
        lines = _lines(rows)
        if lines:
            fp32 = {line.family: line for line in lines if line.row["precision"] == "fp32"}
            cells = tuple(_cells(line, fp32.get(line.family)) for line in lines)
            newest = [line.row for line in lines]
            machines = dict.fromkeys(f"{row['target']}: {row['machine']}" for row in newest if "runtime" in row)
            references = dict.fromkeys(f"reference: {row['reference']}" for row in newest if "reference" in row)
            failures = [f"{row['model']} on {row['target']} failed: {row['status']}" for row in newest if row["status"] != OK]
            tables.append(Table(title, HEADINGS, cells, (*NOTES, *machines, *references, *failures), n_left=4))
    return tables


def _lines(rows: Sequence[Row]) -> list[Line]:
    """A line for each model and target, in the order in which they first appear."""
    newest: dict[tuple[str, str], Row] = {}
    timed: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        key = (row["model"], row["target"])
        if "parity_max_abs" in row or (row["target"].startswith(("ssh:", "qemu:")) and row["status"] != OK):
            newest[key] = row
        if row.get("lengths") == "real" and row.get("threads") == 1 and "latency_ms_p50" in row:
            timed[*key, row["bundle_sha256"]] = row
    return [Line(row, timed.get((*key, row["bundle_sha256"]))) for key, row in newest.items()]


def _cells(line: Line, fp32: Line | None) -> tuple[str, ...]:
    row, timed = line.row, line.timed or {}
    return (
        row["model"], row["target"], row.get("runtime", UNKNOWN), row["precision"],
        number(row.get("n"), ",.0f"), number(row.get("n_windows"), ",.0f"),
        *(number(row.get(key)) for key in ("exact", "f1", "reference_f1")),
        number(row.get("parity_max_abs"), ".2g"), number(row.get("same_spans"), ".1f", 100, "%"),
        number(row.get(INSTRUCTIONS), ",.1f", 1e-6), marked(number(timed.get("latency_ms_p50"), ".1f"), timed),
        UNKNOWN if fp32 is None else _cheaper(line, fp32),
    )  # fmt: skip


def _cheaper(line: Line, fp32: Line) -> str:
    """How many times as cheap as the fp32 file: by times of one run, else by instructions counted on the same windows."""
    if line.timed is not None and fp32.timed is not None:
        times = number(ratio(fp32.timed, line.timed), ".2f", unit="x")
        interval = round_ratio(fp32.timed, line.timed) if line is not fp32 else None
        return marked(with_span(times, interval, ".2f"), line.timed, fp32.timed)
    same_windows = all(line.row.get(key) == fp32.row.get(key) for key in ("n", "n_windows"))
    if same_windows and INSTRUCTIONS in line.row and INSTRUCTIONS in fp32.row:
        return number(fp32.row[INSTRUCTIONS] / line.row[INSTRUCTIONS], ".2f", unit="x")
    return UNKNOWN
