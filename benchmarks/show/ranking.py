"""Rankings: our fastest export of a PyTorch bundle, and other toolchains' exports of it, the fastest first.

There is a ranking for each setting: unpadded and every padded length, with one thread. Ours is the fastest of
our exports within EQUAL_F1 of the best of them. Models with train-test overlap are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.results.rows import Latency, Lengths
from benchmarks.results.stats import mean_of, speedup
from benchmarks.show.columns import F1_INTERVAL, MODEL, PRECISION, SIZE, quick_mark, runtime_of, words_of
from benchmarks.show.footnotes import busy_footnotes, failure_footnotes, quick_footnotes, toolchain_footnotes
from benchmarks.show.groups import Entry, Group, padded_length
from benchmarks.show.tables import Column, Table, at_path, make_table
from qa.evaluation.bootstrap import Interval

EQUAL_F1 = 0.5  # points of F1
COLUMNS = [
    MODEL,
    Column("tool", lambda contender: runtime_of(contender.entry)),
    PRECISION,
    SIZE,
    F1_INTERVAL,
    Column("F1 - ours", lambda c: c.f1_difference if c.entry.is_toolchain else None, "+.2f"),
    Column("ms", "row.latency_ms_mean", ".1f", mark=quick_mark("row")),
    Column("x ours", "speedup", ".2f", unit="x", mark=quick_mark("row")),
]


@dataclass(frozen=True)
class Contender:
    """One scored export at one setting, compared with our export."""

    entry: Entry
    row: Latency | None
    f1_difference: float
    """Points of F1 above ours."""
    speedup: Interval | float | None
    """Speed-up over ours; None when not timed in the same run."""


def ranking_tables(group: Group) -> list[Table]:
    """Return a table for each PyTorch bundle and length at which ours and others were timed."""
    bundles = (e.newest.parent_sha256 for e in group.entries if e.is_toolchain)
    tables = []
    for bundle in dict.fromkeys(filter(None, bundles)):
        made = [e for e in group.entries if e.newest.parent_sha256 == bundle and e.may_be_recommended]
        exports = [e for e in made if e.is_export]
        toolchains = [e for e in made if e.is_toolchain]
        names = [e.model for e in group.entries if e.newest.bundle_sha256 == bundle and not e.is_toolchain]
        name = names[0] if names else f"bundle {bundle[:16]}"
        for lengths in sorted(_lengths(exports) & _lengths(toolchains), key=padded_length):
            ours = _fastest(exports, lengths)
            theirs = [(e, e.at(lengths), e.f1) for e in toolchains]
            if ours is not None and ours.f1 is not None:
                row = ours.at(lengths)
                contenders = [
                    Contender(e, at, f1 - ours.f1, speedup(row, at)) for e, at, f1 in theirs if f1 is not None
                ]
                if contenders:
                    contenders.sort(key=lambda c: -mean_of(c.speedup))
                    tables.append(_table(name, lengths, [Contender(ours, row, 0.0, 1.0), *contenders]))
    return tables


def _table(name: str, lengths: Lengths, contenders: Sequence[Contender]) -> Table:
    """Return the table of our export, the first contender, and those of other toolchains."""
    ours = contenders[0].entry
    rows = [contender.row for contender in contenders if contender.row]
    where = words_of(lengths)
    footnotes = [
        f"ms: mean of the runtime call for one window, 1 thread; x ours: speed-up over {ours.model}, our "
        f"fastest export here within {EQUAL_F1:g} points of our best F1",
        f"{ours.group.data}; {ours.group.machine}",
        *toolchain_footnotes([contender.entry for contender in contenders]),
        *quick_footnotes(rows),
        *busy_footnotes(rows, ours.group.newest.machine),
        *failure_footnotes(e.failure for e in ours.group.entries if e.is_toolchain),
    ]
    return make_table(f"{where[0].upper()}{where[1:]}, exports of {name}", COLUMNS, contenders, footnotes)


def _lengths(entries: list[Entry]) -> set[Lengths]:
    """Return the lengths timed with one thread and batch 1."""
    return {lengths for e in entries for lengths, *rest in e.latency if rest == [1, 1]}


def _fastest(exports: list[Entry], lengths: Lengths) -> Entry | None:
    """Return the fastest export whose F1 is near the best."""
    best_f1 = max((e.f1 for e in exports if e.f1 is not None), default=0.0)
    near = [e for e in exports if e.f1 is not None and e.f1 >= best_f1 - EQUAL_F1]
    times = {e: ms for e in near if (ms := at_path(e.at(lengths), "latency_ms_mean"))}
    return min(times, key=times.__getitem__, default=None)
