"""The training view: a line for each case of benchmarks/training.py, of the newest run on a machine."""

from collections.abc import Sequence

import numpy as np

from benchmarks.rows import CUDA, OK, Row
from benchmarks.views.cells import UNKNOWN, Table, number, span
from benchmarks.views.groups import REAL, Group
from benchmarks.views.notes import GPU_PEAK, busy_notes, failure_notes, process_conditions
from benchmarks.views.speedups import MIN_ROUNDS
from qa.bootstrap import LEVEL, interval

STAGE = "training"
HEADINGS = ("case", "loss", "padded to", "precision", "windows/s", "times", "95 %", "lowest to highest", "peak MB")


def training_tables(groups: Sequence[Group]) -> list[Table]:
    """One table a data set and machine; groups without training have none."""
    tables = []
    for group in groups:
        rows = [row for row in group.rows if row["stage"] == STAGE]
        if rows:
            tables.append(training_table(group, [row for row in rows if row["date"] == rows[-1]["date"]]))
    return tables


def training_table(group: Group, rows: Sequence[Row]) -> Table:
    """The rows of one run."""
    measured = {row["model"]: row for row in rows if row["status"] == OK}
    cells = tuple(_cells(row, measured.get(row.get("reference", ""), {})) for row in measured.values())
    return Table(f"Training, {group.data}", HEADINGS, cells, tuple(_notes(group, rows)), n_left=4)


def round_ratios(row: Row, reference: Row) -> np.ndarray:
    """How many times the windows a second of `reference` a case has, round by round; empty where they had no rounds together."""
    ours, theirs = row.get("round_windows_per_s", []), reference.get("round_windows_per_s", [])
    return np.array(ours) / np.array(theirs) if len(ours) == len(theirs) else np.array([])


def _cells(row: Row, reference: Row) -> tuple[str, ...]:
    times = round_ratios(row, reference)
    enough = len(times) >= MIN_ROUNDS and row is not reference
    return (
        row["model"], row["objective"], "batch's longest" if row["lengths"] == REAL else str(row["lengths"]), row["precision"],
        number(row["windows_per_s"], ".1f"), number(row.get("times_reference"), ".2f", unit="x"),
        span(interval(times) if enough else None),
        f"{times.min():.2f} to {times.max():.2f}" if len(times) else UNKNOWN, number(row.get("peak_memory_mb"), ",.0f"),
    )  # fmt: skip


def _notes(group: Group, rows: Sequence[Row]) -> list[str]:
    """What was trained, how often, and under which conditions."""
    measured = [row for row in rows if row["status"] == OK]
    notes = []
    for row in measured[:1]:
        n_rounds, shared = len(row["round_windows_per_s"]), row.get("training", {})
        model = f"{shared['layers']} layers of {shared['teacher']}, " if shared else ""
        notes.append(
            f"{model}batch {row['batch']}, {row['n_runs'] // n_rounds} timed steps in each of {n_rounds} rounds in turns, each "
            "case in a process of its own; windows/s: median of the rounds"
        )
    for name in dict.fromkeys(row["reference"] for row in measured if "reference" in row):
        notes.append(
            f"times: windows a second over those of {name} in the same round, mean of the rounds, with its {LEVEL:.0%} interval "
            f"(bootstrap, from {MIN_ROUNDS} rounds on), lowest and highest"
        )
    notes += [GPU_PEAK] if group.target == CUDA else []
    runtimes = ", ".join(dict.fromkeys(row["runtime"] for row in measured))
    notes += [group.machine, f"{runtimes}; {rows[0]['date'][:10]}"]
    notes += [f"{name}: {value}" for name, value in process_conditions(measured)]
    return notes + busy_notes(measured, group.machine) + failure_notes(rows)
