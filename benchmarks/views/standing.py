"""Where we stand: our fastest export of a PyTorch bundle against what other tools make of the same bundle, at equal F1.

At each setting, real lengths and every length padded to, all with one thread, ours is the fastest of our exports that are
within EQUAL_F1 of the best of them. A peer counts as of equal F1 when it has at least ours less EQUAL_F1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.rows import OK, Row
from benchmarks.views.cells import listed, span
from benchmarks.views.groups import REAL, Entry, Group, bundles_with_peers, exports_of, peers_of
from benchmarks.views.speedups import MEAN, ratio, round_ratio
from qa.bootstrap import Interval

EQUAL_F1 = 0.5  # points that a peer may lose and still count as equal


@dataclass(frozen=True)
class PeerLine:
    """One peer against ours at one setting."""

    peer: Entry
    row: Row
    f1_difference: float
    """Points of F1 that the peer has more."""
    faster: float | None
    """How many times as fast as ours it is; None when they were not timed in the same run."""
    interval: Interval | None

    @property
    def name(self) -> str:
        """The peer's model."""
        return str(self.peer.facts["model"])

    @property
    def equal_f1(self) -> bool:
        """Whether its F1 is at least ours, but for EQUAL_F1."""
        return self.f1_difference >= -EQUAL_F1

    @property
    def beyond_noise(self) -> int:
        """1: faster than ours, -1: slower, 0: no difference beyond noise, or not known. Without an interval nothing is noise."""
        if self.faster is None:
            return 0
        low, high = (self.interval.low, self.interval.high) if self.interval else (self.faster, self.faster)
        return int(low > 1) - int(high < 1)

    @property
    def times(self) -> str:
        """1.08 times as fast (1.05–1.11)."""
        return f"{self.faster:.2f} times as fast ({span(self.interval) if self.interval else 'no interval'})"


@dataclass(frozen=True)
class Standing:
    """Ours and all peers of one bundle at one setting."""

    made_from: str
    """The PyTorch model that ours and all peers were made from."""
    lengths: str | int
    """REAL, or the length padded to."""
    ours: Entry
    row: Row
    lines: tuple[PeerLine, ...]

    @property
    def where(self) -> str:
        """At real lengths, or the length padded to."""
        return "at real lengths" if self.lengths == REAL else f"padded to {self.lengths}"

    def sentence(self, line: PeerLine) -> str:
        """What one peer's figures say, in plain words."""
        if line.faster is None:
            return f"{line.name} was not timed {self.where} in the same run"
        words = {1: "is ", -1: "is behind: ", 0: "shows no difference beyond noise: "}[line.beyond_noise]
        sentence = f"{line.name} {words}{line.times} {self.where} {_f1_words(line.f1_difference)}"
        return sentence if line.equal_f1 or line.beyond_noise < 0 else f"{sentence}, which does not count"

    def verdict(self) -> str:
        """Whether ours is the fastest at equal F1, and if not who is."""
        where, name = self.where[0].upper() + self.where[1:], self.ours.facts["model"]
        equal = sorted((line for line in self.lines if line.faster and line.equal_f1), key=lambda line: -(line.faster or 0))
        if not equal:
            return f"{where}, no peer of equal F1 was timed in the same run as our {name}"
        first = equal[0]
        ahead = [line for line in equal if line.beyond_noise > 0]
        if ahead:
            return f"{where}, {ahead[0].name} is the fastest at equal F1: {ahead[0].times} as our {name}"
        level = [line for line in equal if line.beyond_noise == 0]
        if level:
            others = listed([line.name for line in level])
            return f"{where}, our {name} and {others} are the fastest at equal F1, without a difference beyond noise"
        return f"{where}, our {name} is the fastest at equal F1: the next, {first.name}, is {first.times}"


def _f1_words(difference: float) -> str:
    if abs(difference) <= EQUAL_F1:
        return "at the same F1"
    if difference > 0:
        return f"at {difference:.1f} points more F1"
    return f"at {-difference:.1f} points less F1"


def standings(group: Group) -> list[Standing]:
    """Every PyTorch bundle that has both peers and exports of our own, at each length that both were timed at."""
    bundles = bundles_with_peers(group.entries)
    found = (_standing(group, bundle, lengths) for bundle in bundles for lengths in _lengths(group, bundle))
    return [one for one in found if one is not None]


def _lengths(group: Group, bundle: str) -> list[str | int]:
    """Real lengths, then those padded to, the shortest first."""
    ours, theirs = (
        {lengths for entry in entries for lengths, threads in entry.latency if threads == 1}
        for entries in (exports_of(group.entries, bundle), peers_of(group.entries, bundle))
    )
    return sorted(ours & theirs, key=lambda lengths: 0 if lengths == REAL else int(lengths))


def _standing(group: Group, bundle: str, lengths: str | int) -> Standing | None:
    own = [e for e in exports_of(group.entries, bundle) if _sound(e)]
    best_f1 = max((e.facts["f1"] for e in own), default=0.0)
    timed = [e for e in own if MEAN in e.at(lengths) and e.facts["f1"] >= best_f1 - EQUAL_F1]
    if not timed:
        return None
    ours = min(timed, key=lambda e: e.at(lengths)[MEAN])
    row = ours.at(lengths)
    lines = [_line(peer, ours, row) for peer in peers_of(group.entries, bundle) if _sound(peer)]
    parents = [e.facts["model"] for e in group.entries if e.facts["bundle_sha256"] == bundle and not e.is_peer]
    made_from = parents[0] if parents else f"bundle {bundle[:16]}"
    return Standing(made_from, lengths, ours, row, tuple(sorted(lines, key=lambda line: -(line.faster or 0)))) if lines else None


def _sound(entry: Entry) -> bool:
    return entry.facts["status"] == OK and "f1" in entry.facts


def _line(peer: Entry, ours: Entry, base: Row) -> PeerLine:
    row = peer.at(base["lengths"])
    return PeerLine(peer, row, peer.facts["f1"] - ours.facts["f1"], ratio(base, row), round_ratio(base, row))


def overall_verdict(found: Sequence[Standing]) -> str:
    """The verdicts of all settings in one line."""
    return ". ".join(one.verdict() for one in found)
