"""Tables of training speed."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.results.rows import CUDA, UNPADDED, Failure, TrainingSpeed
from benchmarks.results.stats import MIN_ROUNDS
from benchmarks.show.footnotes import GPU_PEAK, busy_footnotes, failure_footnotes, process_conditions
from benchmarks.show.groups import Group
from benchmarks.show.tables import Column, Table, make_table
from qa.evaluation.bootstrap import LEVEL, Interval, interval


@dataclass(frozen=True)
class TrainingLine:
    """A case, and the reference case it is divided by."""

    result: TrainingSpeed
    reference: TrainingSpeed | None

    @property
    def ratio(self) -> Interval | float | None:
        """Mean over the rounds of the speed-up over the reference, with its interval from MIN_ROUNDS on."""
        rounds = np.array(self.result.round_windows_per_s)
        base = np.array(self.reference.round_windows_per_s if self.reference else ())
        if len(rounds) != len(base):
            return None
        return interval(rounds / base) if len(rounds) >= MIN_ROUNDS else float((rounds / base).mean())


COLUMNS = [
    Column("case", "result.model"),
    Column("loss", "result.objective"),
    Column(
        "padded to",
        lambda line: "batch's longest" if line.result.lengths == UNPADDED else str(line.result.lengths),
    ),
    Column("precision", "result.precision"),
    Column("dropout", "result.hidden_dropout", "g", optional=True),
    Column("attention dropout", "result.attention_dropout", "g", optional=True),
    Column("windows/s", "result.windows_per_s", ".1f"),
    Column("x", "ratio", ".2f", unit="x", optional=True),
    Column("over", lambda line: line.result.reference if line.ratio is not None else None, optional=True),
    Column("peak MB", "result.peak_memory_mb", ",.0f"),
]


def training_tables(group: Group) -> list[Table]:
    """Return a table with the cases of the newest run, if there is one."""
    results = [r for r in group.results if r.stage == "training"]
    if not results:
        return []
    run = [r for r in results if r.date == results[-1].date]
    cases = {r.model: r for r in run if isinstance(r, TrainingSpeed)}
    lines = [TrainingLine(case, cases.get(case.reference or "")) for case in cases.values()]
    footnotes = [
        *_footnotes(group, lines, run[0].date[:10]),
        *failure_footnotes(r for r in run if isinstance(r, Failure)),
    ]
    return [make_table(f"Training, {group.data}", COLUMNS, lines, footnotes)]


def _footnotes(group: Group, lines: list[TrainingLine], day: str) -> Iterator[str]:
    """Explain the columns, the rounds and the model, which all cases of a run share, and the conditions."""
    cases = [line.result for line in lines]
    for case in cases[:1]:
        n_rounds = len(case.round_windows_per_s)
        model = f"{case.training['layers']} layers of {case.training['teacher']}, " if case.training else ""
        steps = f"{case.n_runs // n_rounds} timed steps in each of {n_rounds} rounds"
        turns = "the cases take turns, each in a process of its own; windows/s: median of the rounds"
        yield f"{model}batch {case.batch}, {steps}; {turns}"
    yield "dropout: of the hidden states; attention dropout: of the attention weights"
    if any(line.ratio is not None for line in lines):
        yield (
            "x: windows per second divided by those of the case under over, which has the same loss and the "
            "same dropout, except in the cases that measure the cost of dropout; mean of the rounds, "
            f"{LEVEL:.0%} interval by bootstrap from {MIN_ROUNDS} rounds on"
        )
    if group.target == CUDA:
        yield GPU_PEAK
    yield group.machine
    yield f"{', '.join(dict.fromkeys(str(case.runtime) for case in cases))}; {day}"
    yield from (f"{name}: {value}" for name, value in process_conditions(cases))
    yield from busy_footnotes(cases, group.newest.machine)
