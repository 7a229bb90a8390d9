"""Rows sorted into groups, what was measured on one machine with one data set, and their entries, the models."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.rows import CPU, OK, PHONE, Row
from benchmarks.views.speedups import MEAN, ratio, round_ratio
from compress.quantize import PRECISION_OF_FLAG
from qa.bootstrap import Interval

PRECISIONS = tuple(PRECISION_OF_FLAG.values())
LatencyKey = tuple[str | int, int]  # (lengths, threads)
REAL = "real"


@dataclass
class Entry:
    """One model: its newest facts, and its newest row for every setting: of single windows, and of several at once."""

    facts: Row
    latency: dict[LatencyKey, Row] = field(default_factory=dict)
    batched: dict[tuple[str | int, int, int], Row] = field(default_factory=dict)
    """By (lengths, threads, batch)."""

    @property
    def is_peer(self) -> bool:
        """Whether another tool made this of a PyTorch bundle."""
        return "peer" in self.facts

    @property
    def made_from_sha256(self) -> str | None:
        """Hash of the bundle that this was made from; where a peer's rows name none, that hash is their own."""
        own = self.facts["bundle_sha256"] if self.is_peer else None
        return self.facts.get("parent_sha256", own)

    def at(self, lengths: str | int | None, threads: int = 1) -> Row:
        """The latency row of a setting (REAL, or the length padded to), empty when not measured, as for None."""
        return {} if lengths is None else self.latency.get((lengths, threads), {})

    def timed_rows(self) -> list[Row]:
        """The newest rows of all settings that were timed."""
        return [*self.latency.values(), *self.batched.values()]


def padded_length(row: Row) -> int:
    """The length that windows were padded to; 0 for real lengths."""
    return row["lengths"] if isinstance(row["lengths"], int) else 0


@dataclass
class Group:
    """Everything measured on one data set, target and machine, or on one phone; a phone has no data set and only rows."""

    data: str | None
    machine: str
    rows: list[Row] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    @property
    def on_phone(self) -> bool:
        """Whether these are rows from the logs of a phone."""
        return self.data is None

    @property
    def target(self) -> str:
        """Where it was measured: cpu, phone, qemu:neoverse-n1."""
        return str(self.newest["target"])

    @property
    def newest(self) -> Row:
        """The row appended last."""
        return self.rows[-1]

    @property
    def longest(self) -> int | None:
        """The greatest length that any model was padded to with one thread; None when none was."""
        lengths = (n for entry in self.entries for n, threads in entry.latency if threads == 1)
        return max((n for n in lengths if isinstance(n, int)), default=None)

    @property
    def lengths_shown(self) -> list[str | int]:
        """What a table with a line a model has times of, with one thread: the greatest length padded to, and REAL."""
        real = any((REAL, 1) in entry.latency for entry in self.entries)
        return [*([self.longest] if self.longest else []), *([REAL] if real else [])]

    @property
    def baseline(self) -> Row:
        """What the newest row that names a baseline says of it; empty where none does."""
        return next((row for row in reversed(self.rows) if "baseline_sha256" in row), {})

    def is_baseline(self, entry: Entry) -> bool:
        """Whether this is the model that F1 and speed are compared with."""
        return not entry.is_peer and bool(entry.facts["bundle_sha256"] == self.baseline.get("baseline_sha256"))

    def retained(self, entry: Entry) -> float | None:
        """F1 divided by that of the group's baseline; None when the entry was compared with another, or with none."""
        return entry.facts.get("f1_retained") if self.same_baseline(entry.facts) else None

    def compared_with_others(self) -> list[Entry]:
        """The entries with figures that are relative to another baseline than the group's."""
        rows = ((e, row) for e in self.entries for row in (e.facts, *e.timed_rows()))
        found = {id(e): e for e, row in rows if "baseline_sha256" in row and not self.same_baseline(row)}
        return list(found.values())

    def same_baseline(self, row: Row) -> bool:
        """Whether the relative figures of a row are against the group's baseline."""
        return bool(row.get("baseline_sha256") == self.baseline.get("baseline_sha256"))

    def same_as_parent(self, entry: Entry) -> float | None:
        """The share of answers that are the parent's; None where the parent's were not kept, and the row has the baseline's."""
        facts, base = entry.facts, self.baseline
        has_parent = facts.get("parent_sha256") not in (None, base.get("baseline_sha256"))
        as_baseline = facts.get("same_answers_as") == base.get("baseline")
        return None if has_parent and as_baseline else facts.get("same_answers")

    def speedup(self, row: Row, figure: str = MEAN) -> float | None:
        """How many times faster than the baseline at its greatest padded length and one thread, in the same run; None when that
        was not measured.
        """
        base = self._padded_baseline(row, figure)
        return ratio(base, row, figure) if base is not None else None

    def speedup_of(self, row: Row) -> int | None:
        """The length padded to of what `speedup` divides; None when that was not measured."""
        base = self._padded_baseline(row, MEAN)
        return padded_length(base) if base is not None else None

    def speedup_interval(self, row: Row) -> Interval | None:
        """The interval of `speedup` by mean times; None where the two did not take turns, and for what is divided by itself."""
        base = self._padded_baseline(row, MEAN)
        return round_ratio(base, row) if base is not None and base is not row else None

    def _padded_baseline(self, row: Row, figure: str) -> Row | None:
        if not row or not self.same_baseline(row):
            return None
        found = [
            other for other in self.rows
            if other["bundle_sha256"] == row.get("baseline_sha256") and other["date"] == row["date"] and "peer" not in other
            and other.get("threads") == 1 and other.get("lengths") not in (None, REAL) and figure in other
        ]  # fmt: skip
        return max(reversed(found), key=padded_length, default=None)


def collect(rows: Sequence[Row], order: Sequence[str] = ()) -> list[Group]:
    """Sort rows into groups and entries: this machine, other targets, phones.

    A model's newer rows replace its older ones; a changed one starts afresh.
    Entries stand in families: a PyTorch bundle, its exports and what peers made of it. The baseline's family comes first and
    each behind that of its parent; else they stand in the order of their bundle hashes in `order`, or as they first appear.
    """
    groups: dict[tuple[str, str, str], Group] = {}
    for row in rows:
        on_phone = row["target"] == PHONE
        key = (row["target"], "" if on_phone else row["data"]["sha256"], row["machine"])
        group = groups.setdefault(key, Group(None if on_phone else row["data"]["name"], row["machine"]))
        group.rows.append(row)
        if not on_phone:
            _update(group.entries, row)
    for group in groups.values():
        group.entries[:] = _in_families(_in_order(group, order))
    return sorted(groups.values(), key=lambda group: (group.on_phone, group.newest["target"] != CPU))


def newest_order(rows: Sequence[Row]) -> list[str]:
    """The bundle hashes as the newest comparison has them, for `collect`; logs of phones are no comparison."""
    return list(dict.fromkeys(row["bundle_sha256"] for row in reversed(rows) if row["target"] != PHONE))[::-1]


def exports_of(entries: Sequence[Entry], bundle_sha256: str) -> list[Entry]:
    """Our own exports of a bundle."""
    own = (e for e in entries if not e.is_peer and e.facts["stage"] == "export")
    return [e for e in own if e.made_from_sha256 == bundle_sha256]


def peers_of(entries: Sequence[Entry], bundle_sha256: str) -> list[Entry]:
    """What other tools made of a bundle."""
    return [e for e in entries if e.is_peer and e.made_from_sha256 == bundle_sha256]


def bundles_with_peers(entries: Sequence[Entry]) -> list[str]:
    """The hashes of the PyTorch bundles that peers were made from."""
    return list(dict.fromkeys(e.made_from_sha256 for e in entries if e.is_peer and e.made_from_sha256 is not None))


def _in_order(group: Group, order: Sequence[str]) -> list[Entry]:
    """The baseline, then by number of ancestors, among these in `order`."""
    rank = {sha256: number for number, sha256 in enumerate(order)}
    parents = {e.facts["bundle_sha256"]: e.made_from_sha256 for e in group.entries if not e.is_peer}

    def key(entry: Entry) -> tuple[bool, int, int]:
        ancestors, sha256 = set[str](), entry.made_from_sha256
        while sha256 is not None and sha256 not in ancestors:
            ancestors.add(sha256)
            sha256 = parents.get(sha256)
        return not group.is_baseline(entry), len(ancestors), rank.get(entry.facts["bundle_sha256"], len(rank))

    return sorted(group.entries, key=key)


def _in_families(entries: Sequence[Entry]) -> list[Entry]:
    """Whatever commands measured them: a bundle, its exports by runtime and precision, its peers as they come."""
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        is_made = entry.is_peer or entry.facts["stage"] == "export"
        bundle = entry.made_from_sha256 if is_made else None
        families.setdefault(bundle or entry.facts["bundle_sha256"], []).append(entry)

    def place(entry: Entry) -> tuple[int, str, int]:
        if entry.is_peer:
            return (2, "", 0)
        if entry.facts["stage"] != "export":
            return (0, "", 0)
        precision = entry.facts["precision"]
        return (1, entry.facts.get("runtime", ""), PRECISIONS.index(precision) if precision in PRECISIONS else len(PRECISIONS))

    return [entry for family in families.values() for entry in sorted(family, key=place)]


def _update(entries: list[Entry], row: Row) -> None:
    found = [number for number, entry in enumerate(entries) if entry.facts["model"] == row["model"]]
    if not found:
        entries.append(Entry({}))
    number = found[0] if found else len(entries) - 1
    old = entries[number].facts
    changed = any(old.get(key) != row.get(key) for key in ("bundle_sha256", "runtime", "peer"))
    if changed or row["status"] != OK or old.get("status") != OK:
        entries[number] = Entry(dict(row))
    else:
        # Figures of one setting stay with that setting; load time and memory belong to the model. What was relative to another
        # baseline does not stay.
        other_baseline = "baseline_sha256" in row and row["baseline_sha256"] != old.get("baseline_sha256")
        kept = {key: value for key, value in old.items() if not (other_baseline and key.startswith("f1_retained"))}
        entries[number].facts = kept | row
    if "latency_ms_p50" in row and row.get("batch", 1) == 1:
        entries[number].latency[row["lengths"], row["threads"]] = row
    elif is_batched(row):
        entries[number].batched[row["lengths"], row["threads"], row["batch"]] = row


def is_batched(row: Row) -> bool:
    """Whether this row says how many windows a second a model computes when several are given at once."""
    timed_here = "lengths" in row and "threads" in row and row["stage"] != "training"
    return timed_here and row.get("batch", 1) > 1 and isinstance(row.get("windows_per_s"), int | float)
