"""The project's table in one: what each model retains at which size and time, a line for each target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.results.rows import CPU, CUDA, QEMU, SSH
from benchmarks.show.columns import MODEL, PRECISION, RUNTIME, SIZES, quick_mark, x_column
from benchmarks.show.footnotes import (
    busy_footnotes,
    caution_footnotes,
    failure_footnotes,
    quick_footnotes,
    shown_times,
    table_footnotes,
)
from benchmarks.show.groups import Entry, Group
from benchmarks.show.tables import UNKNOWN, Column, Table, at_path, make_table

# Other targets than this machine's CPU, with the beginnings of their names. Each has a line, even if empty.
OTHERS = {"GPU": (CUDA,), "ARM": (SSH, QEMU)}


@dataclass(frozen=True)
class CardLine:
    """A model on a target."""

    target: str
    entry: Entry
    """The model on the target; where it was not measured there, on this machine's CPU."""
    measured: Entry | None = None
    """The same entry if it was measured on the target."""

    @property
    def pass_s(self) -> float | None:
        """Seconds of the runtime calls for all windows of the questions, by the mean time of a window."""
        n_windows = at_path(self, "measured.accuracy.n_windows")
        ms = at_path(self, "measured.unpadded.latency_ms_mean")
        return n_windows * ms / 1000 if n_windows and ms else None


COLUMNS = [
    MODEL,
    Column("target", "target"),
    replace(RUNTIME, rank=5),
    PRECISION,
    *SIZES,
    Column("ms unpadded", "measured.unpadded.latency_ms_mean", ".1f", mark=quick_mark("measured.unpadded")),
    x_column("x unpadded", "measured.unpadded"),
    Column("pass s", "pass_s", ",.0f", mark=quick_mark("measured.unpadded"), rank=6),
    Column("questions", "measured.accuracy.n", ",.0f"),
    Column("EM", "measured.accuracy.exact_with_interval", ".2f", rank=4),
    Column("F1", "measured.accuracy.f1_with_interval", ".2f"),
    Column("EM retained", "measured.exact_retained", ".1f", 100, "%", rank=7),
    Column("F1 retained", "measured.retained", ".1f", 100, "%"),
]
PASS = (
    "pass s: seconds for all windows of the questions with 1 thread, by the mean time of one; without "
    "tokenizing and decoding"
)


def card_tables(groups: Sequence[Group]) -> list[Table]:
    """Return a table for each data set of this machine's CPU, with the results of other targets on it."""
    tables = []
    for group in (group for group in groups if group.target == CPU and group.entries):
        others = [g for g in groups if g.target != CPU and _content(g) == _content(group)]
        lines = [line for entry in group.entries for line in _lines(entry, others)]
        footnotes = [*table_footnotes(group, "card"), PASS]
        for other in others:
            of = f"; x and retained over {other.baseline_name}" if other.baseline is not None else ""
            footnotes.append(f"{other.target}: {other.machine}{of}")
            notes = (
                *quick_footnotes(shown_times(other, "card")),
                *caution_footnotes(other.scores),
                *busy_footnotes(other.times, other.newest.machine),
                *failure_footnotes(entry.failure for entry in other.entries),
            )
            footnotes += [f"{other.target}: {note}" for note in notes]
        if any(line.measured is None for line in lines):
            footnotes.append(f"{UNKNOWN} in all figures: not measured on that target")
        tables.append(make_table(f"{group.data}, by target", COLUMNS, lines, footnotes))
    return tables


def _content(group: Group) -> str | None:
    data = group.newest.data
    return data.sha256 if data is not None else None  # whatever the file's name


def _lines(entry: Entry, others: Sequence[Group]) -> Iterator[CardLine]:
    """Yield a model's lines: this machine's CPU, then each other target, or its absence."""
    yield CardLine(CPU, entry, entry)
    for name, beginnings in OTHERS.items():
        entries = [e for g in others if g.target.startswith(beginnings) for e in g.entries]
        same = [e for e in entries if _is_same(e, entry)]
        yield from (CardLine(e.newest.target, e, e) for e in same)
        if not same:
            yield CardLine(name, entry)


def _is_same(other: Entry, entry: Entry) -> bool:
    """Return True for a model's bundle, or the bundle in another precision on a GPU."""
    model = entry.newest
    in_precision = other.model == f"{model.model}-{other.newest.precision}"
    return other.newest.bundle_sha256 == model.bundle_sha256 or (
        in_precision and other.newest.parent_sha256 == model.bundle_sha256
    )
