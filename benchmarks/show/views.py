"""Tables out of results, by the name of a view. Nothing is measured here."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.results.rows import CUDA, QEMU, SSH, UNPADDED, Failure, Latency, TargetAccuracy, TrainingSpeed
from benchmarks.results.stats import MIN_ROUNDS, mean_of, speedup
from benchmarks.show.footnotes import (
    GPU_PEAK,
    busy_notes,
    failure_notes,
    peer_notes,
    process_conditions,
    quick_notes,
    table_notes,
)
from benchmarks.show.groups import Group
from benchmarks.show.phone_views import phone_tables
from benchmarks.show.ranking import EQUAL_F1, Contender, Standing, standings
from benchmarks.show.tables import (
    ACCURACY,
    LATENCY,
    PADDING,
    QUICK,
    SHORT,
    SUMMARY,
    Column,
    Line,
    Table,
    attribute,
    make_table,
    runtime_of,
)
from qa.evaluation.bootstrap import LEVEL, Interval, interval

PER_MODEL = {"summary": SUMMARY, "short": SHORT, "accuracy": ACCURACY, "padding": PADDING}
VIEWS = (*PER_MODEL, "latency", "peers", "arm", "training")


def view_tables(groups: Sequence[Group], view: str) -> list[Table]:
    """The tables of a view: summary, short, accuracy, padding (a line for each model), latency (one for each
    setting; phones are here), peers (our best export against other tools), arm (what other targets computed)
    or training (how fast training is).
    """
    if view == "arm":
        return arm_tables(groups)
    makers = {"peers": peers_tables, "training": training_tables, "latency": latency_tables}
    tables = []
    for group in groups:
        if view in makers:
            tables += makers[view](group)
        elif any(e.accuracy or e.failure or e.latency for e in group.entries):
            lines = [
                Line(group, e)
                for e in group.entries
                if view != "padding" or group.padding_gain(e) is not None
            ]
            tables += (
                [make_table(_title(group), PER_MODEL[view], lines, table_notes(group, view))] if lines else []
            )
    return tables


def _title(group: Group) -> str:
    n = next((e.accuracy.n for e in group.entries if e.accuracy), None)
    return f"{group.data}, {n:,} questions" if n else str(group.data)


def latency_tables(group: Group) -> list[Table]:
    """One table with a line for each setting of each model, or of a phone's runs."""
    if group.on_phone:
        return phone_tables(group)
    lines = [Line(group, e, row) for e in group.entries for row in e.times()]
    columns = [
        column
        for column in LATENCY
        if column.heading != "batch" or any(line.row.batch > 1 for line in lines if line.row)
    ]
    return [make_table(_title(group), columns, lines, table_notes(group, "latency"))] if lines else []


# Peers

PEER_COLUMNS = [
    Column("model", attribute("entry", "model")),
    Column("tool", lambda one: runtime_of(one.entry)),
    Column("precision", attribute("entry", "newest", "precision")),
    Column("MB", attribute("entry", "newest", "size_bytes"), ".1f", 1e-6),
    Column("F1", lambda one: one.accuracy.f1_interval or one.accuracy.f1, ".2f"),
    Column("F1 - ours", lambda one: one.f1_difference if one.entry.is_peer else None, "+.2f"),
    Column("ms", attribute("row", "latency_ms_mean"), ".1f", mark=lambda one: QUICK if one.row.quick else ""),
    Column("x ours", attribute("speedup"), ".2f", unit="x", mark=lambda one: QUICK if one.row.quick else ""),
]


def peers_tables(group: Group) -> list[Table]:
    """A table for each PyTorch bundle and setting, the verdict as its title."""
    return [peers_table(group, standing) for standing in standings(group)]


def peers_table(group: Group, standing: Standing) -> Table:
    """Ours, and the peers with the fastest first."""
    lines: list[Contender] = [standing.ours, *standing.peers]
    entries = [one.entry for one in lines]
    rows = [one.row for one in lines if one.row]
    notes = [
        *(standing.sentence(peer) for peer in standing.peers if peer.beyond_noise >= 0),
        f"ms: mean of the runtime call for one window {standing.where}, 1 thread; x ours: times as fast as "
        f"{standing.ours.entry.model}, our fastest export here; equal F1: at most {EQUAL_F1:g} points below "
        "ours",
        f"all made of {standing.made_from}; {group.data}; {group.machine}",
        *peer_notes(entries),
        *quick_notes(rows),
        *busy_notes(rows, group.newest.machine),
        *failure_notes(e.failure for e in group.entries if e.failure and e.is_peer),
    ]
    return make_table(standing.verdict(), PEER_COLUMNS, lines, notes)


# Other targets


@dataclass(frozen=True)
class TargetLine:
    """What a target computed of a model, its times there, and the same model's fp32 file there."""

    result: TargetAccuracy | Failure
    row: Latency | None
    fp32: "TargetLine | None" = None

    @property
    def gain(self) -> Interval | float | None:
        """How many times as cheap as the fp32 file: by times of one run, else by instructions counted on the
        same windows."""
        if self.fp32 is None:
            return None
        if self.row is not None and self.fp32.row is not None:
            return 1.0 if self.row is self.fp32.row else speedup(self.fp32.row, self.row)
        own = self.result
        base = self.fp32.result
        if not isinstance(own, TargetAccuracy) or not isinstance(base, TargetAccuracy):
            return None
        if (
            not own.instructions_per_window
            or not base.instructions_per_window
            or own.n_windows != base.n_windows
        ):
            return None
        return base.instructions_per_window / own.instructions_per_window


ARM_COLUMNS = [
    *(Column(name, attribute("result", name)) for name in ("model", "target", "runtime", "precision")),
    Column("embeddings", attribute("result", "embeddings"), optional=True),
    Column("questions", attribute("result", "n"), ",.0f"),
    Column("windows", attribute("result", "n_windows"), ",.0f"),
    *(Column(heading, attribute("result", key), ".2f") for heading, key in (("EM", "exact"), ("F1", "f1"))),
    Column("F1 ref", attribute("result", "reference_f1"), ".2f"),
    Column("max diff", attribute("result", "parity_max_abs"), ".2g"),
    Column("same spans", attribute("result", "same_spans"), ".1f", 100, "%"),
    Column("M instructions", attribute("result", "instructions_per_window"), ",.1f", 1e-6),
    Column("ms", attribute("row", "latency_ms_mean"), ".1f", mark=lambda one: QUICK if one.row.quick else ""),
    Column(
        "x fp32",
        attribute("gain"),
        ".2f",
        unit="x",
        mark=lambda one: QUICK if one.row and one.row.quick else "",
    ),
]
ARM_NOTES = (
    "max diff: largest difference of a logit from the reference, that runtime with the same windows and "
    "file; "
    "same spans: windows with the same best span; F1 ref: the reference's F1",
    "M instructions: millions a window, mean, in the runtime call at 1 thread; ms: mean of that call, 1 "
    "thread, unpadded",
    "x fp32: how many times fewer instructions, or less time (mean, with its 95 % interval over rounds in "
    "turns), than the same "
    "model's fp32 file takes there in the same runtime",
)


def arm_tables(groups: Sequence[Group]) -> list[Table]:
    """One table a data set, a line for each model and target, from their newest results."""
    by_data: dict[str, list[TargetLine]] = {}
    for group in groups:
        if group.newest.data is not None:
            by_data.setdefault(group.newest.data.name, []).extend(_target_lines(group))
    tables = []
    for title, lines in by_data.items():
        if lines:
            results = [line.result for line in lines]
            failures = [one for one in results if isinstance(one, Failure)]
            machines = dict.fromkeys(f"{r.target}: {r.machine}" for r in results if r.runtime)
            references = dict.fromkeys(
                f"reference: {r.reference}" for r in results if isinstance(r, TargetAccuracy)
            )
            notes = [
                *ARM_NOTES,
                *machines,
                *references,
                *(f"{r.model} on {r.target} failed: {r.error}" for r in failures),
            ]
            tables.append(make_table(title, ARM_COLUMNS, lines, notes))
    return tables


def _target_lines(group: Group) -> list[TargetLine]:
    """A line for each model, in the order in which they first appear."""
    there = [
        one
        for one in group.results
        if isinstance(one, TargetAccuracy | Failure) and one.target.startswith((SSH, QEMU))
    ]
    newest = {(one.model, one.target): one for one in there}
    timed = {(e.model, e.newest.bundle_sha256): e.at(UNPADDED) for e in group.entries}
    lines = [TargetLine(one, timed.get((one.model, one.bundle_sha256))) for one in newest.values()]

    def family(line: TargetLine) -> tuple[object, ...]:
        return line.result.runtime, line.result.made_from or line.result.bundle_sha256

    fp32 = {family(line): line for line in lines if line.result.precision == "fp32"}
    return [TargetLine(line.result, line.row, fp32.get(family(line))) for line in lines]


# Training


@dataclass(frozen=True)
class TrainingLine:
    """A case and the one it is divided by."""

    result: TrainingSpeed
    reference: TrainingSpeed | None

    @property
    def ratios(self) -> np.ndarray:
        """Windows a second over those of the reference, round by round; empty where they had no rounds
        together."""
        own = self.result.round_windows_per_s
        base = self.reference.round_windows_per_s if self.reference else ()
        return np.array(own) / np.array(base) if len(own) == len(base) else np.array([])

    @property
    def times(self) -> Interval | float | None:
        """Their mean, with its interval from MIN_ROUNDS on."""
        if not len(self.ratios):
            return None
        return interval(self.ratios) if len(self.ratios) >= MIN_ROUNDS else float(self.ratios.mean())


TRAINING_COLUMNS = [
    Column("case", attribute("result", "model")),
    Column("loss", attribute("result", "objective")),
    Column(
        "padded to",
        lambda line: "batch's longest" if line.result.lengths == UNPADDED else str(line.result.lengths),
    ),
    Column("precision", attribute("result", "precision")),
    Column("dropout", attribute("result", "hidden_dropout"), "g", optional=True),
    Column("of attention", attribute("result", "attention_dropout"), "g", optional=True),
    Column("windows/s", attribute("result", "windows_per_s"), ".1f"),
    Column("x", attribute("times"), ".2f", unit="x", optional=True),
    Column("over", lambda line: line.result.reference if line.times is not None else None, optional=True),
    Column("peak MB", attribute("result", "peak_memory_mb"), ",.0f"),
]


def training_tables(group: Group) -> list[Table]:
    """The cases of the newest run."""
    found = [one for one in group.results if one.stage == "training"]
    found = [one for one in found if one.date == found[-1].date]
    measured = {one.model: one for one in found if isinstance(one, TrainingSpeed)}
    if not found:
        return []
    lines = [TrainingLine(one, measured.get(one.reference or "")) for one in measured.values()]
    rows = list(measured.values())
    notes = []
    for row in rows[:1]:
        n_rounds = len(row.round_windows_per_s)
        shared = row.training
        model = f"{shared['layers']} layers of {shared['teacher']}, " if shared else ""
        notes.append(
            f"{model}batch {row.batch}, {row.n_runs // n_rounds} timed steps in each of {n_rounds} rounds "
            "in turns, each "
            "case in a process of its own; windows/s: median of the rounds"
        )
    notes.append("dropout: of the hidden states, and of attention's weights")
    if any(mean_of(line.times) for line in lines):
        notes.append(
            "x: windows a second over those of the case named, which has the same loss and, but for the "
            "cases that tell "
            f"its cost, the same dropout; mean of the rounds, with its {LEVEL:.0%} interval (bootstrap, "
            f"from {MIN_ROUNDS} rounds)"
        )
    notes += [GPU_PEAK] if group.target == CUDA else []
    notes += [
        group.machine,
        f"{', '.join(dict.fromkeys(str(row.runtime) for row in rows))}; {found[0].date[:10]}",
    ]
    notes += [f"{name}: {value}" for name, value in process_conditions(rows)]
    notes += busy_notes(rows, group.newest.machine) + failure_notes(
        one for one in found if isinstance(one, Failure)
    )
    return [make_table(f"Training, {group.data}", TRAINING_COLUMNS, lines, notes)]
