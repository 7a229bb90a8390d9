"""Tables of models computed on remote targets: boards reached by ssh, and emulated CPUs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.results.rows import QEMU, SSH
from benchmarks.results.stats import speedup
from benchmarks.show.columns import (
    EMBEDDINGS,
    EXACT_RETAINED,
    F1_INTERVAL,
    MODEL,
    PRECISION,
    QUESTIONS,
    RETAINED,
    TARGET,
    WINDOWS,
    quick_mark,
)
from benchmarks.show.footnotes import busy_footnotes, caution_footnotes, failure_footnotes, quick_footnotes
from benchmarks.show.groups import Entry, Group
from benchmarks.show.tables import Column, Table, at_path, listed, make_table
from qa.evaluation.bootstrap import LEVEL, Interval


@dataclass(frozen=True)
class TargetLine:
    """A model on a target, and its fp32 file there."""

    entry: Entry
    fp32: Entry | None

    @property
    def target(self) -> str:
        """The target, with its machine where two have one name."""
        own = self.entry.newest
        machines = {str(g.machine) for g in self.entry.group.collected if g.target == own.target}
        return own.target if len(machines) < 2 else f"{own.target} ({own.machine})"

    @property
    def times_least(self) -> float | None:
        """Instructions divided by the least that the matrix products need."""
        own = at_path(self, "entry.accuracy.instructions_per_window")
        least = at_path(self, "entry.accuracy.least_instructions_per_window")
        return own / least if own and least else None

    @property
    def gain(self) -> Interval | float | None:
        """The speed-up over the fp32 file in one run, or its ratio of instructions for the same windows."""
        if self.fp32 is None:
            return None
        row, base_row = self.entry.unpadded, self.fp32.unpadded
        if row is not None and base_row is not None:
            return 1.0 if row is base_row else speedup(base_row, row)
        own = at_path(self, "entry.accuracy.instructions_per_window")
        base = at_path(self, "fp32.accuracy.instructions_per_window")
        same_windows = at_path(self, "entry.accuracy.n_windows") == at_path(self, "fp32.accuracy.n_windows")
        return base / own if own and base and same_windows else None


COLUMNS = [
    MODEL,
    replace(TARGET, source="target"),
    Column("runtime", "entry.newest.runtime", rank=5),
    PRECISION,
    replace(EMBEDDINGS, rank=8),
    replace(QUESTIONS, rank=0),
    WINDOWS,
    Column("EM", "entry.accuracy.exact_with_interval", ".2f"),
    F1_INTERVAL,
    Column("F1 ref", "entry.accuracy.reference_f1", ".2f", rank=6),
    replace(EXACT_RETAINED, rank=0),
    RETAINED,
    Column("same answers", "entry.accuracy.same_answers_with_interval", ".1f", 100, "%", optional=True),
    Column("max diff", "entry.accuracy.parity_max_abs", ".2g", rank=3),
    Column("same spans", "entry.accuracy.same_spans", ".1f", 100, "%", rank=4),
    Column("M instructions", "entry.accuracy.instructions_per_window", ",.1f", 1e-6),
    Column("x least", "times_least", ".2f", optional=True),
    Column("ms", "entry.unpadded.latency_ms_mean", ".1f", mark=quick_mark("entry.unpadded"), optional=True),
    Column("x fp32", "gain", ".2f", unit="x", mark=quick_mark("entry.unpadded"), optional=True),
]
FOOTNOTES = (
    "reference: the same runtime, file and windows on the machine of the command; max diff: largest "
    "difference of a logit from it; same spans: windows with the same best span",
    "F1 ref: F1 of the reference",
    "M instructions: millions per window, mean, in the runtime call with 1 thread",
    "ms: mean of the runtime call, 1 thread, unpadded",
    "EM retained, F1 retained: EM and F1 divided by the baseline's",
    "same answers: share of answers that the reference gives too",
    "x least: the instructions divided by the least that the matrix products need",
    "x fp32: ratio of the instructions, or of the mean times (95% interval over rounds in turns), of the "
    "same model's fp32 file there in the same runtime",
)


def arm_tables(groups: Sequence[Group]) -> list[Table]:
    """Return a table for each data set, with a line for each model and target."""
    by_data: dict[str, list[TargetLine]] = {}
    busy: dict[str, list[str]] = {}
    for group in groups:
        if group.data is not None and group.target.startswith((SSH, QEMU)):
            by_data.setdefault(group.data, []).extend(_target_lines(group))
            notes = busy_footnotes(group.times, group.newest.machine)
            busy.setdefault(group.data, []).extend(f"{group.target}: {note}" for note in notes)
    tables = []
    for data, lines in by_data.items():
        entries = [line.entry for line in lines]
        machines = (f"{e.newest.target}: {e.newest.machine}" for e in entries if e.newest.runtime)
        references = (f"reference: {at_path(e, 'accuracy.reference')}" for e in entries if e.accuracy)
        hidden = {column.heading for column in COLUMNS if not column.is_shown(lines)}
        resampled = dict.fromkeys(
            e.accuracy.resampled for e in entries if e.accuracy and e.accuracy.resampled
        )
        bases = dict.fromkeys(e.accuracy.baseline for e in entries if e.accuracy and e.accuracy.baseline)
        footnotes = [
            *(text for text in FOOTNOTES if not {*text.split(":", 1)[0].split(", ")} <= hidden),
            *([f"intervals: {LEVEL:.0%}, bootstrap over {listed([*resampled])}"] if resampled else ()),
            *(f"baseline: {name} on the machine of the command, same questions" for name in bases),
            *caution_footnotes(e.accuracy for e in entries),
            *quick_footnotes([e.unpadded for e in entries if e.unpadded]),
            *dict.fromkeys(machines),
            *busy[data],
            *dict.fromkeys(references),
            *failure_footnotes(e.failure for e in entries),
        ]
        tables.append(make_table(data, COLUMNS, lines, footnotes))
    return tables


def _target_lines(group: Group) -> list[TargetLine]:
    """Return a line for each model of a remote target, with its fp32 file in the same runtime."""

    def family(entry: Entry) -> tuple[object, ...]:
        return entry.newest.runtime, entry.newest.parent_sha256 or entry.newest.bundle_sha256

    fp32 = {family(e): e for e in group.entries if e.newest.precision == "fp32"}
    return [TargetLine(e, fp32.get(family(e))) for e in group.entries]
