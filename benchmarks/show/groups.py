"""Results sorted into groups, what was measured on one machine with one data set, and their entries, the
models."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.results.rows import (
    CPU,
    PHONE,
    UNPADDED,
    Accuracy,
    AnyResult,
    Failure,
    Latency,
    Lengths,
)
from benchmarks.results.stats import same_run, speedup
from qa.evaluation.bootstrap import Interval
from qa.formats.precision import PRECISIONS

Setting = tuple[Lengths, int, int]  # lengths, threads, batch


@dataclass
class Entry:
    """One model: its newest result, its scores, and its newest times at every setting."""

    newest: Accuracy | Latency | Failure
    accuracy: Accuracy | None = None
    latency: dict[Setting, Latency] = field(default_factory=dict)
    failure: Failure | None = None

    @property
    def model(self) -> str:
        """Its name in tables."""
        return self.newest.model

    @property
    def is_peer(self) -> bool:
        """Whether another tool made this of a PyTorch bundle."""
        return self.newest.peer is not None

    @property
    def is_export(self) -> bool:
        """Whether this is an export of ours."""
        return not self.is_peer and self.newest.stage == "export"

    @property
    def f1(self) -> float | None:
        """In percent; None when not measured."""
        return self.accuracy.f1 if self.accuracy is not None else None

    def at(self, lengths: Lengths | None, threads: int = 1, batch: int = 1) -> Latency | None:
        """The times at a setting; None when not measured, as for no lengths."""
        return None if lengths is None else self.latency.get((lengths, threads, batch))

    def changed_by(self, result: Accuracy | Latency | Failure) -> bool:
        """Whether a result is of another file or runtime than this entry's."""
        old = self.newest
        return old.subject != result.subject or (old.runtime is not None and old.runtime != result.runtime)

    def update(self, result: Accuracy | Latency | Failure) -> None:
        """Take a newer result in; of another file or runtime, or after a failure, all starts afresh."""
        if self.changed_by(result) or isinstance(result, Failure) or self.failure is not None:
            self.accuracy = None
            self.latency = {}
            self.failure = None
        self.newest = result
        if isinstance(result, Failure):
            self.failure = result
        elif isinstance(result, Latency):
            self.latency[result.lengths, result.threads, result.batch] = result
        else:
            self.accuracy = result

    def times(self) -> list[Latency]:
        """The newest times at all settings, single windows first, few threads before many, short before
        long.
        """
        return sorted(
            self.latency.values(),
            key=lambda r: (r.batch, r.threads, r.lengths == UNPADDED, padded_to(r.lengths)),
        )


def padded_to(lengths: Lengths | None) -> int:
    """The length that windows were padded to; 0 for none."""
    return lengths if isinstance(lengths, int) else 0


@dataclass
class Group:
    """Everything measured on one data set, target and machine, or on one phone, which has no data set."""

    results: list[AnyResult] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    @property
    def newest(self) -> AnyResult:
        """The result appended last."""
        return self.results[-1]

    @property
    def target(self) -> str:
        """Where it was measured: cpu, phone, qemu:neoverse-n1."""
        return self.newest.target

    @property
    def machine(self) -> str:
        """What computed it, in one line."""
        return str(self.newest.machine)

    @property
    def data(self) -> str | None:
        """Name of the data file; None on a phone."""
        return self.newest.data.name if self.newest.data is not None else None

    @property
    def on_phone(self) -> bool:
        """Whether these are from the logs of a phone."""
        return self.data is None

    @property
    def longest(self) -> int | None:
        """The greatest length that any model was padded to with one thread; None when none was."""
        lengths = (
            n
            for e in self.entries
            for n, threads, batch in e.latency
            if (threads, batch) == (1, 1) and n != UNPADDED
        )
        return max(map(padded_to, lengths), default=None)

    @property
    def lengths_shown(self) -> list[Lengths]:
        """What a table with a line a model has times of, with one thread: the greatest length padded to, and
        UNPADDED."""
        unpadded = any(e.at(UNPADDED) for e in self.entries)
        shown: list[Lengths] = [self.longest] if self.longest else []
        return [*shown, UNPADDED] if unpadded else shown

    def made_of(self, bundle_sha256: str) -> tuple[list[Entry], list[Entry]]:
        """Our own exports of a bundle, and what other tools made of it."""
        made = [e for e in self.entries if e.newest.made_from == bundle_sha256]
        return [e for e in made if e.is_export], [e for e in made if e.is_peer]

    @property
    def batched(self) -> Setting | None:
        """The setting of the windows a second in a table with a line a model: unpadded, few threads, large
        batches first."""
        found = {key for e in self.entries for key in e.latency if key[2] > 1}
        return min(found, key=lambda key: (key[0] != UNPADDED, key[1], -key[2], str(key[0])), default=None)

    @property
    def baseline(self) -> Accuracy | None:
        """The newest scores that name a baseline."""
        found = (
            r for r in reversed(self.results) if isinstance(r, Accuracy) and r.baseline_sha256 is not None
        )
        return next(found, None)

    @property
    def baseline_entry(self) -> Entry | None:
        """The model that F1 and speed are compared with."""
        return next((e for e in self.entries if self.is_baseline(e)), None)

    def is_baseline(self, entry: Entry) -> bool:
        """Whether this is the model that F1 and speed are compared with."""
        sha256 = self.baseline.baseline_sha256 if self.baseline is not None else None
        return not entry.is_peer and entry.newest.bundle_sha256 == sha256

    def retained(self, entry: Entry) -> Interval | float | None:
        """F1 over that of the group's baseline, with its interval; None when it was compared with another, or
        with none."""
        own = entry.accuracy
        if own is None or self.baseline is None or own.baseline_sha256 != self.baseline.baseline_sha256:
            return None
        return own.f1_retained if self.is_baseline(entry) else own.retained_interval or own.f1_retained

    def compared_with_others(self) -> list[Entry]:
        """The entries whose F1 retained is relative to another baseline than the group's."""
        return [
            e for e in self.entries if e.accuracy and e.accuracy.baseline_sha256 and self.retained(e) is None
        ]

    def agreement(self, entry: Entry) -> float | None:
        """The share of answers that are the parent's; None where those were not kept, and the scores have the
        baseline's."""
        own = entry.accuracy
        base = self.baseline
        if own is None or base is None:
            return own.same_answers if own is not None else None
        has_parent = own.parent_sha256 not in (None, base.baseline_sha256)
        return None if has_parent and own.same_answers_as == base.baseline else own.same_answers

    def baseline_times(self, row: Latency) -> Latency | None:
        """The baseline's times at the very setting of `row` in the same run."""
        base = self.baseline.baseline_sha256 if self.baseline is not None else None
        wanted = (base, row.lengths, row.threads, row.batch)
        for other in reversed(self.results):
            if not isinstance(other, Latency) or other.peer is not None or not same_run(other, row):
                continue
            if (other.bundle_sha256, other.lengths, other.threads, other.batch) == wanted:
                return other
        return None

    def speedup(self, row: Latency | None) -> Interval | float | None:
        """How many times as fast as the baseline at the same lengths, threads and batch in the same run, by
        mean times."""
        base = self.baseline_times(row) if row is not None else None
        if row is None or base is None:
            return None
        return 1.0 if base is row else speedup(base, row)

    def in_another_run(self, row: Latency) -> Latency | None:
        """The baseline's times of the run of `row`, where those shown of the baseline are of another run."""
        base = self.baseline_times(row)
        entry = self.baseline_entry
        shown = entry.at(row.lengths, row.threads, row.batch) if entry is not None else None
        return base if base is not None and shown is not None and not same_run(shown, row) else None

    def padding_gain(self, entry: Entry) -> Interval | float | None:
        """How many times as fast a model is unpadded as padded to the greatest length, in one run at one
        thread."""
        padded = entry.at(self.longest)
        unpadded = entry.at(UNPADDED)
        return speedup(padded, unpadded) if padded is not None and unpadded is not None else None


def collect(results: Sequence[AnyResult], order: Sequence[str] = ()) -> list[Group]:
    """Sort results into groups and entries: this machine, other targets, phones.

    Entries stand in families: a PyTorch bundle, its exports and what peers made of it. The baseline's family
    comes first and each behind that of its parent; else they stand in the order of their bundle hashes in
    `order`, or as they first appear.
    """
    groups: dict[object, Group] = {}
    for result in results:
        group = groups.setdefault(
            (result.target, result.data and result.data.sha256, result.machine), Group()
        )
        group.results.append(result)
        if result.data is not None and isinstance(result, Accuracy | Latency | Failure):
            _update(group.entries, result)
    for group in groups.values():
        group.entries[:] = _in_families(_in_order(group, order))
    return sorted(groups.values(), key=lambda group: (group.on_phone, group.target != CPU))


def _update(entries: list[Entry], result: Accuracy | Latency | Failure) -> None:
    # The very file first: names get their parents' where two folders of a run share one, so a model may come
    # under two.
    of_file = next((e for e in entries if not e.changed_by(result)), None)
    entry = of_file or next((e for e in entries if e.model == result.model), None)
    if entry is None:
        entry = Entry(result)
        entries.append(entry)
    entry.update(result)
    entries[:] = [e for e in entries if e is entry or e.model != result.model]


def newest_order(results: Sequence[AnyResult]) -> list[str]:
    """The bundle hashes as the newest comparison has them, for `collect`; logs of phones are no
    comparison.
    """
    return list(dict.fromkeys(r.bundle_sha256 for r in reversed(results) if r.target != PHONE))[::-1]


def _in_order(group: Group, order: Sequence[str]) -> list[Entry]:
    """The baseline, then by number of ancestors, among these in `order`."""
    rank = {sha256: number for number, sha256 in enumerate(order)}
    parents = {e.newest.bundle_sha256: e.newest.made_from for e in group.entries if not e.is_peer}

    def key(entry: Entry) -> tuple[bool, int, int]:
        ancestors = set[str]()
        sha256 = entry.newest.made_from
        while sha256 is not None and sha256 not in ancestors:
            ancestors.add(sha256)
            sha256 = parents.get(sha256)
        return not group.is_baseline(entry), len(ancestors), rank.get(entry.newest.bundle_sha256, len(rank))

    return sorted(group.entries, key=key)


def _in_families(entries: Sequence[Entry]) -> list[Entry]:
    """Whatever commands measured them: a bundle, its exports by runtime and precision, its peers as they
    come."""
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        bundle = entry.newest.made_from if entry.is_peer or entry.is_export else None
        families.setdefault(bundle or entry.newest.bundle_sha256, []).append(entry)

    def place(entry: Entry) -> tuple[int, str, int]:
        if not entry.is_export:
            return (2 if entry.is_peer else 0, "", 0)
        runtime = entry.newest.runtime
        precision = entry.newest.precision
        names = list(PRECISIONS)
        rank = names.index(precision) if precision in names else len(names)
        return (1, runtime.package if runtime else "", rank)

    return [entry for family in families.values() for entry in sorted(family, key=place)]
