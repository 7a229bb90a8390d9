"""Tables of models computed on remote targets: boards reached by ssh, and emulated CPUs."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.results.rows import QEMU, SSH, UNPADDED, Failure, Latency, TargetAccuracy
from benchmarks.results.stats import speedup
from benchmarks.show.columns import overlap_mark, quick_mark
from benchmarks.show.footnotes import overlap_footnotes
from benchmarks.show.groups import Group
from benchmarks.show.tables import Column, Table, at_path, make_table
from qa.evaluation.bootstrap import Interval


@dataclass(frozen=True)
class TargetLine:
    """Scores and times of a model on a target, and those of its fp32 file there."""

    result: TargetAccuracy | Failure
    row: Latency | None
    fp32: "TargetLine | None" = None

    @property
    def exact(self) -> Interval | float | None:
        """EM in percent, with its interval if known."""
        return at_path(self, "result.exact_interval") or at_path(self, "result.exact")

    @property
    def f1(self) -> Interval | float | None:
        """F1 in percent, with its interval if known."""
        return at_path(self, "result.f1_interval") or at_path(self, "result.f1")

    @property
    def exact_retained(self) -> Interval | float | None:
        """EM divided by that of the baseline, with its interval if known."""
        return at_path(self, "result.exact_retained_interval") or at_path(self, "result.exact_retained")

    @property
    def f1_retained(self) -> Interval | float | None:
        """F1 divided by that of the baseline, with its interval if known."""
        return at_path(self, "result.retained_interval") or at_path(self, "result.f1_retained")

    @property
    def times_least(self) -> float | None:
        """Instructions divided by the least that the matrix products need."""
        own = at_path(self, "result.instructions_per_window")
        least = at_path(self, "result.least_instructions_per_window")
        return own / least if own and least else None

    @property
    def gain(self) -> Interval | float | None:
        """The speed-up over the fp32 file in one run, or its ratio of instructions for the same windows."""
        if self.fp32 is None:
            return None
        if self.row is not None and self.fp32.row is not None:
            return 1.0 if self.row is self.fp32.row else speedup(self.fp32.row, self.row)
        own = at_path(self, "result.instructions_per_window")
        base = at_path(self, "fp32.result.instructions_per_window")
        same_windows = at_path(self, "result.n_windows") == at_path(self, "fp32.result.n_windows")
        return base / own if own and base and same_windows else None


COLUMNS = [
    Column("model", "result.model", mark=overlap_mark("result.train_overlap")),
    Column("target", "result.target"),
    Column("runtime", "result.runtime", rank=5),
    Column("precision", "result.precision", rank=1),
    Column("embeddings", "result.embeddings", optional=True, rank=8),
    Column("questions", "result.n", ",.0f"),
    Column("windows", "result.n_windows", ",.0f", rank=9),
    Column("EM", "exact", ".2f"),
    Column("F1", "f1", ".2f"),
    Column("F1 ref", "result.reference_f1", ".2f", rank=6),
    Column("EM retained", "exact_retained", ".1f", 100, "%", optional=True),
    Column("F1 retained", "f1_retained", ".1f", 100, "%", optional=True),
    Column("same answers", "result.same_answers_interval", ".1f", 100, "%", optional=True),
    Column("max diff", "result.parity_max_abs", ".2g", rank=3),
    Column("same spans", "result.same_spans", ".1f", 100, "%", rank=4),
    Column("M instructions", "result.instructions_per_window", ",.1f", 1e-6),
    Column("x least", "times_least", ".2f", optional=True),
    Column("ms", "row.latency_ms_mean", ".1f", mark=quick_mark("row"), optional=True),
    Column("x fp32", "gain", ".2f", unit="x", mark=quick_mark("row"), optional=True),
]
FOOTNOTES = (
    "reference: the same runtime, file and windows on the machine of the command; max diff: largest "
    "difference of a logit from it; same spans: windows with the same best span",
    "F1 ref: F1 of the reference",
    "M instructions: millions per window, mean, in the runtime call with 1 thread",
    "ms: mean of the runtime call, 1 thread, unpadded",
    "EM retained, F1 retained: EM and F1 divided by the baseline's",
    "same answers: share of answers that the reference gives too; intervals: 95%, bootstrap over articles",
    "x least: the instructions divided by the least that the matrix products need",
    "x fp32: ratio of the instructions, or of the mean times (95% interval over rounds in turns), of the "
    "same model's fp32 file there in the same runtime",
)


def arm_tables(groups: Sequence[Group]) -> list[Table]:
    """Return a table for each data set, with a line for each model and target from its newest result."""
    by_data: dict[str, list[TargetLine]] = {}
    for group in groups:
        if group.data is not None and (lines := _target_lines(group)):
            by_data.setdefault(group.data, []).extend(lines)
    tables = []
    for data, lines in by_data.items():
        results = [line.result for line in lines]
        machines = (f"{r.target}: {r.machine}" for r in results if r.runtime)
        references = (f"reference: {r.reference}" for r in results if isinstance(r, TargetAccuracy))
        failures = (f"{r.model} on {r.target} failed: {r.error}" for r in results if isinstance(r, Failure))
        hidden = {column.heading for column in COLUMNS if not column.is_shown(lines)}
        bases = dict.fromkeys(r.baseline for r in results if isinstance(r, TargetAccuracy) and r.baseline)
        footnotes = [
            *(text for text in FOOTNOTES if not {*text.split(":", 1)[0].split(", ")} <= hidden),
            *(f"baseline: {name} on the machine of the command, same questions" for name in bases),
            *overlap_footnotes(results),
            *dict.fromkeys(machines),
            *dict.fromkeys(references),
            *failures,
        ]
        tables.append(make_table(data, COLUMNS, lines, footnotes))
    return tables


def _target_lines(group: Group) -> list[TargetLine]:
    """Return a line for each model of a remote target, in the order of first appearance."""
    if not group.target.startswith((SSH, QEMU)):
        return []
    newest = {r.model: r for r in group.results if isinstance(r, TargetAccuracy | Failure)}
    times = {(e.model, e.newest.bundle_sha256): e.at(UNPADDED) for e in group.entries}
    lines = [TargetLine(r, times.get((r.model, r.bundle_sha256))) for r in newest.values()]

    def family(line: TargetLine) -> tuple[object, ...]:
        return line.result.runtime, line.result.made_from or line.result.bundle_sha256

    fp32 = {family(line): line for line in lines if line.result.precision == "fp32"}
    return [TargetLine(line.result, line.row, fp32.get(family(line))) for line in lines]
