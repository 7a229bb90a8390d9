"""Our fastest export of a PyTorch bundle against what other tools make of the same bundle, at equal F1.

At each setting, unpadded and every length padded to, all with one thread, ours is the fastest of our exports
that are within EQUAL_F1 of the best of them. A peer counts as of equal F1 when it has at least ours less
EQUAL_F1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.results.rows import Accuracy, Latency, Lengths
from benchmarks.results.stats import mean_of, speedup
from benchmarks.show.groups import Entry, Group, padded_to
from benchmarks.show.tables import listed, span, words_of
from qa.evaluation.bootstrap import Interval

EQUAL_F1 = 0.5  # points that a peer may lose and still count as equal


@dataclass(frozen=True)
class Contender:
    """Ours or a peer at one setting, beside ours."""

    entry: Entry
    accuracy: Accuracy
    row: Latency | None
    f1_difference: float
    """Points of F1 that it has more than ours."""
    speedup: Interval | float | None
    """How many times as fast as ours it is; None when they were not timed in the same run."""

    @property
    def equal_f1(self) -> bool:
        """Whether its F1 is at least ours, but for EQUAL_F1."""
        return self.f1_difference >= -EQUAL_F1

    @property
    def faster(self) -> float:
        """How many times as fast as ours it is on average, 0 when not known."""
        return mean_of(self.speedup) or 0.0

    @property
    def beyond_noise(self) -> int:
        """1: faster than ours, -1: slower, 0: no difference beyond noise, or not known. Without an interval
        nothing is noise."""
        if self.speedup is None:
            return 0
        low, high = (
            (self.speedup.low, self.speedup.high)
            if isinstance(self.speedup, Interval)
            else (self.speedup, self.speedup)
        )
        return int(low > 1) - int(high < 1)

    @property
    def times(self) -> str:
        """1.08 times as fast (1.05–1.11)."""
        ends = span(self.speedup) if isinstance(self.speedup, Interval) else "no interval"
        return f"{self.faster:.2f} times as fast ({ends})"


@dataclass(frozen=True)
class Standing:
    """Ours and all peers of one bundle at one setting, the fastest first."""

    made_from: str
    """The PyTorch model that ours and all peers were made from."""
    lengths: Lengths
    ours: Contender
    peers: tuple[Contender, ...]

    @property
    def where(self) -> str:
        """Unpadded, or the length padded to."""
        return words_of(self.lengths)

    def sentence(self, peer: Contender) -> str:
        """What one peer's figures say, in plain words."""
        name = peer.entry.model
        if peer.speedup is None:
            return f"{name} was not timed {self.where} in the same run"
        words = {1: "is ", -1: "is behind: ", 0: "shows no difference beyond noise: "}[peer.beyond_noise]
        difference = abs(peer.f1_difference)
        more = "more" if peer.f1_difference > 0 else "less"
        f1 = "at the same F1" if difference <= EQUAL_F1 else f"at {difference:.1f} points {more} F1"
        counts = "" if peer.equal_f1 or peer.beyond_noise < 0 else ", which does not count"
        return f"{name} {words}{peer.times} {self.where} {f1}{counts}"

    def verdict(self) -> str:
        """Whether ours is the fastest at equal F1, and if not who is."""
        where = self.where[0].upper() + self.where[1:]
        name = self.ours.entry.model
        equal = [peer for peer in self.peers if peer.faster and peer.equal_f1]
        if not equal:
            return f"{where}, no peer of equal F1 was timed in the same run as our {name}"
        ahead, level = ([p for p in equal if p.beyond_noise == sign] for sign in (1, 0))
        if ahead:
            return (
                f"{where}, {ahead[0].entry.model} is the fastest at equal F1: {ahead[0].times} as our {name}"
            )
        if level:
            others = listed([peer.entry.model for peer in level])
            return (
                f"{where}, our {name} and {others} are the fastest at equal F1, without a difference beyond "
                "noise"
            )
        return (
            f"{where}, our {name} is the fastest at equal F1: the next, {equal[0].entry.model}, is "
            f"{equal[0].times}"
        )


def standings(group: Group) -> list[Standing]:
    """Every PyTorch bundle that has both peers and exports of our own, at each length that both were timed
    at."""
    bundles = dict.fromkeys(
        e.newest.made_from for e in group.entries if e.is_peer and e.newest.made_from is not None
    )
    found = (_standing(group, bundle, lengths) for bundle in bundles for lengths in _lengths(group, bundle))
    return [one for one in found if one is not None]


def _lengths(group: Group, bundle: str) -> list[Lengths]:
    """Unpadded, then those padded to, the shortest first."""
    ours, theirs = (
        {
            lengths
            for entry in entries
            for lengths, threads, batch in entry.latency
            if (threads, batch) == (1, 1)
        }
        for entries in group.made_of(bundle)
    )
    return sorted(ours & theirs, key=padded_to)


def _standing(group: Group, bundle: str, lengths: Lengths) -> Standing | None:
    exports, others = group.made_of(bundle)
    own = [(e, e.accuracy, e.at(lengths)) for e in exports]
    best_f1 = max((accuracy.f1 for _, accuracy, _ in own if accuracy), default=0.0)
    fit = [
        (e, a, row) for e, a, row in own if a and a.f1 >= best_f1 - EQUAL_F1 and row and row.latency_ms_mean
    ]
    if not fit:
        return None
    entry, accuracy, row = min(fit, key=lambda one: one[2].latency_ms_mean or 0.0)
    ours = Contender(entry, accuracy, row, 0.0, 1.0)
    peers = [_peer(e, e.accuracy, ours, lengths) for e in others if e.accuracy]
    made_from = next(
        (e.model for e in group.entries if e.newest.bundle_sha256 == bundle and not e.is_peer),
        f"bundle {bundle[:16]}",
    )
    return (
        Standing(made_from, lengths, ours, tuple(sorted(peers, key=lambda p: -p.faster))) if peers else None
    )


def _peer(entry: Entry, accuracy: Accuracy, ours: Contender, lengths: Lengths) -> Contender:
    row = entry.at(lengths)
    times = speedup(ours.row, row) if ours.row is not None and row is not None else None
    return Contender(entry, accuracy, row, accuracy.f1 - ours.accuracy.f1, times)


def overall_verdict(found: Sequence[Standing]) -> str:
    """The verdicts of all settings in one line."""
    return ". ".join(one.verdict() for one in found)
