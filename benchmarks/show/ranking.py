"""Ranking of our fastest export of a PyTorch bundle among other toolchains' exports of it, at equal F1.

There is a ranking for each setting: unpadded and every padded length, with one thread. Ours is the fastest of
our exports within EQUAL_F1 of the best of them. A toolchain's export has equal F1 when it loses at most
EQUAL_F1 against ours.
"""

from dataclasses import dataclass

from benchmarks.results.rows import Latency, Lengths
from benchmarks.results.stats import mean_of, speedup
from benchmarks.show.columns import F1_INTERVAL, MODEL, PRECISION, SIZE, quick_mark, runtime_of, words_of
from benchmarks.show.footnotes import busy_footnotes, failure_footnotes, quick_footnotes, toolchain_footnotes
from benchmarks.show.groups import Entry, Group, padded_length
from benchmarks.show.tables import Column, Table, listed, make_table, span
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

    @property
    def equal_f1(self) -> bool:
        """Return True where F1 is at most EQUAL_F1 below ours."""
        return self.f1_difference >= -EQUAL_F1

    @property
    def beyond_noise(self) -> int:
        """1 if faster than ours, -1 if slower, 0 if the interval includes 1 or the speed-up is unknown."""
        if self.speedup is None:
            return 0
        known = self.speedup
        low, high = (known.low, known.high) if isinstance(known, Interval) else (known, known)
        return int(low > 1) - int(high < 1)

    @property
    def times(self) -> str:
        """The speed-up in words: 1.08 times as fast (1.05–1.11)."""
        ends = span(self.speedup) if isinstance(self.speedup, Interval) else "no interval"
        return f"{mean_of(self.speedup):.2f} times as fast ({ends})"


@dataclass(frozen=True)
class Ranking:
    """Our export and all toolchains' exports of one bundle at one setting, the fastest first."""

    made_from: str
    """Name of the PyTorch model."""
    lengths: Lengths
    ours: Contender
    toolchains: list[Contender]

    @property
    def where(self) -> str:
        """The setting in words: unpadded, padded to 384."""
        return words_of(self.lengths)

    def sentence(self, toolchain: Contender) -> str:
        """Return the comparison of one export with ours in words."""
        name = toolchain.entry.model
        if toolchain.speedup is None:
            return f"{name} was not timed {self.where} in the same run"
        verb = {1: "is", -1: "is slower:", 0: "shows no difference beyond noise:"}[toolchain.beyond_noise]
        points = abs(toolchain.f1_difference)
        more = "more" if toolchain.f1_difference > 0 else "less"
        f1 = "at the same F1" if points <= EQUAL_F1 else f"at {points:.1f} points {more} F1"
        counts = "" if toolchain.equal_f1 or toolchain.beyond_noise < 0 else ", which does not count"
        return f"{name} {verb} {toolchain.times} {self.where} {f1}{counts}"

    def verdict(self) -> str:
        """Return in words which export is the fastest at equal F1."""
        where = self.where[0].upper() + self.where[1:]
        ours = f"our {self.ours.entry.model}"
        equal = [toolchain for toolchain in self.toolchains if toolchain.speedup and toolchain.equal_f1]
        ahead, level = ([p for p in equal if p.beyond_noise == sign] for sign in (1, 0))
        if not equal:
            return f"{where}, no other toolchain's export of equal F1 was timed in the same run as {ours}"
        if ahead:
            return f"{where}, {ahead[0].entry.model} is the fastest at equal F1: {ahead[0].times} as {ours}"
        if level:
            names = listed([ours, *(toolchain.entry.model for toolchain in level)])
            return f"{where}, {names} are the fastest at equal F1, without a difference beyond noise"
        second = f"{equal[0].entry.model}, is {equal[0].times}"
        return f"{where}, {ours} is the fastest at equal F1: the next, {second}"

    def table(self) -> Table:
        """Return ours and the other toolchains' exports, with the verdict as title."""
        contenders = [self.ours, *self.toolchains]
        group = self.ours.entry.group
        rows = [contender.row for contender in contenders if contender.row]
        footnotes = [
            *(self.sentence(toolchain) for toolchain in self.toolchains if toolchain.beyond_noise >= 0),
            f"ms: mean of the runtime call for one window {self.where}, 1 thread; x ours: speed-up over "
            f"{self.ours.entry.model}, our fastest export here; equal F1: at most {EQUAL_F1:g} points below "
            "ours",
            f"all made from {self.made_from}; {group.data}; {group.machine}",
            *toolchain_footnotes([contender.entry for contender in contenders]),
            *quick_footnotes(rows),
            *busy_footnotes(rows, group.newest.machine),
            *failure_footnotes(e.failure for e in group.entries if e.is_toolchain),
        ]
        return make_table(self.verdict(), COLUMNS, contenders, footnotes)


def rankings(group: Group) -> list[Ranking]:
    """Return a ranking for each PyTorch bundle and length at which ours and others were timed."""
    bundles = (e.newest.made_from for e in group.entries if e.is_toolchain)
    found = []
    for bundle in dict.fromkeys(filter(None, bundles)):
        made = [e for e in group.entries if e.newest.made_from == bundle]
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
                    found.append(Ranking(name, lengths, Contender(ours, row, 0.0, 1.0), contenders))
    return found


def _lengths(entries: list[Entry]) -> set[Lengths]:
    """Return the lengths timed with one thread and batch 1."""
    return {lengths for e in entries for lengths, *rest in e.latency if rest == [1, 1]}


def _fastest(exports: list[Entry], lengths: Lengths) -> Entry | None:
    """Return the fastest export whose F1 is near the best."""
    best_f1 = max((e.f1 for e in exports if e.f1 is not None), default=0.0)
    times = {
        e: row.latency_ms_mean
        for e in exports
        if e.f1 is not None and e.f1 >= best_f1 - EQUAL_F1 and (row := e.at(lengths))
    }
    return min((e for e in times if times[e]), key=lambda e: times[e] or 0.0, default=None)
