"""Results by machine and data set (groups), and within each group by model (entries)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from benchmarks.results.rows import UNPADDED, Accuracy, AnyResult, Failure, Latency, Lengths
from benchmarks.results.stats import mean_of, same_run, speedup
from qa.bundles.overlap import is_notable
from qa.data.datasets import EVERYDAY, SHIPPED
from qa.evaluation.bootstrap import Interval

EVERYDAY_DATA = Path(SHIPPED[EVERYDAY].format("dev")).name
Setting = tuple[Lengths, int, int]  # lengths, threads, batch
Measured = Accuracy | Latency | Failure


@dataclass(eq=False)
class Entry:
    """A model with its results, oldest first, since its file or runtime last changed."""

    group: "Group" = field(repr=False)
    results: list[Measured] = field(default_factory=list)

    @property
    def newest(self) -> Measured:
        """The newest result of any class."""
        return self.results[-1]

    @property
    def failure(self) -> Failure | None:
        """The newest failure that no later result has made good."""
        return next((r for r in reversed(self.results) if isinstance(r, Failure)), None)

    @property
    def accuracy(self) -> Accuracy | None:
        """The newest scores."""
        return next((r for r in reversed(self.results) if isinstance(r, Accuracy)), None)

    @property
    def latency(self) -> dict[Setting, Latency]:
        """The newest times at each setting."""
        return {(r.lengths, r.threads, r.batch): r for r in self.results if isinstance(r, Latency)}

    @property
    def model(self) -> str:
        """The model's name in tables."""
        return self.newest.model

    @property
    def is_toolchain(self) -> bool:
        """Return True where another toolchain made this from a PyTorch bundle."""
        return self.newest.toolchain is not None

    @property
    def is_export(self) -> bool:
        """Return True for an export by this project."""
        return not self.is_toolchain and self.newest.stage == "export"

    @property
    def is_baseline(self) -> bool:
        """Return whether F1 and speed are compared with this model."""
        base = self.group.baseline
        return (
            not self.is_toolchain and base is not None and self.newest.bundle_sha256 == base.baseline_sha256
        )

    @property
    def f1(self) -> float | None:
        """F1 in percent, if measured."""
        return self.accuracy.f1 if self.accuracy is not None else None

    @property
    def on_everyday_text(self) -> Accuracy | None:
        """The newest scores of the same file there on everyday text, where the group has other data."""
        own, subject = self.group, self.newest.subject
        others = [g for g in own.collected if g.data_name == EVERYDAY_DATA != own.data_name]
        others = [g for g in others if (g.target, g.machine) == (own.target, own.machine)]
        same = [e.accuracy for g in others for e in g.entries if e.accuracy and e.newest.subject == subject]
        return max(same, key=lambda scores: scores.date, default=None)

    @property
    def train_overlap(self) -> float:
        """Share of questions about passages it was trained on; 0 where unknown."""
        return (self.accuracy.train_overlap or 0.0) if self.accuracy is not None else 0.0

    @property
    def may_be_recommended(self) -> bool:
        """Return False where it was trained on what it is scored on; a tuned threshold is only marked."""
        return not is_notable(self.train_overlap)

    @property
    def retained(self) -> Interval | float | None:
        """Return F1 divided by that of the group's baseline; None when compared with another or none."""
        scores = self.accuracy
        base = self.group.baseline
        if not scores or not base or scores.baseline_sha256 != base.baseline_sha256:
            return None
        return scores.f1_retained if self.is_baseline else scores.retained_with_interval

    @property
    def exact_retained(self) -> Interval | float | None:
        """Return EM divided by that of the group's baseline; None where F1 retained is unknown too."""
        scores = self.accuracy
        base = self.group.baseline_entry
        if scores is None or self.retained is None:
            return None
        share = scores.exact_retained  # a remote target has no result of the baseline
        if share is None and base is not None and base.accuracy is not None and base.accuracy.exact:
            share = scores.exact / base.accuracy.exact
        if share is None:
            return None
        low, high = scores.exact_retained_low, scores.exact_retained_high
        return share if self.is_baseline or low is None or high is None else Interval(share, low, high)

    @property
    def mean_retained(self) -> float:
        """F1 retained without its interval, 0 when unknown."""
        return mean_of(self.retained)

    @property
    def same_answers(self) -> float | None:
        """Return the share of answers identical to another model's; None where it was its own here."""
        scores = self.accuracy
        return scores.same_answers if scores is not None and scores.same_answers_as is not None else None

    @property
    def agreement(self) -> float | None:
        """Return the share of answers identical to the parent's; None where the parent's were not kept."""
        scores = self.accuracy
        base = self.group.baseline
        if scores is None or base is None:
            return self.same_answers
        has_parent = scores.parent_sha256 not in (None, base.baseline_sha256)
        return None if has_parent and scores.same_answers_as == base.baseline else self.same_answers

    def at(self, lengths: Lengths | None, threads: int = 1, batch: int = 1) -> Latency | None:
        """Return the times at a setting, or None when not measured."""
        return None if lengths is None else self.latency.get((lengths, threads, batch))

    @property
    def padded(self) -> Latency | None:
        """Times padded to the group's greatest length, one thread, batch 1."""
        return self.at(self.group.longest)

    @property
    def unpadded(self) -> Latency | None:
        """Times unpadded, one thread, batch 1."""
        return self.at(UNPADDED)

    @property
    def shortest(self) -> Latency | None:
        """Unpadded times, or padded ones where the group has no others; one thread, batch 1."""
        lengths = self.group.shown_lengths
        return self.at(lengths[-1]) if lengths else None

    def times(self) -> list[Latency]:
        """Return the newest times at all settings, by batch, threads and length, unpadded last."""
        return sorted(
            self.latency.values(),
            key=lambda r: (r.batch, r.threads, r.lengths == UNPADDED, padded_length(r.lengths)),
        )

    def is_changed_by(self, result: Measured) -> bool:
        """Return whether a result measures another file or runtime than this entry."""
        old = self.newest
        return old.subject != result.subject or (old.runtime is not None and old.runtime != result.runtime)

    def add(self, result: Measured) -> None:
        """Add a newer result; drop those of another file or runtime, and failures that it makes good.

        A failure to time a model leaves its scores. Only times with as many threads make it good.
        """
        if self.results and self.is_changed_by(result):
            self.results.clear()
        made_good = (None, getattr(result, "threads", None))
        self.results = [r for r in self.results if not isinstance(r, Failure) or r.threads not in made_good]
        self.results.append(result)


def padded_length(lengths: Lengths | None) -> int:
    """Return the length that windows were padded to, 0 for unpadded or unknown."""
    return lengths if isinstance(lengths, int) else 0


@dataclass(eq=False)
class Group:
    """Results of one data set, target and machine, or of one phone, which has no data set."""

    target: str
    """Target of the measurements: cpu, phone, qemu:neoverse-n1."""
    machine: str
    """The machine in one line."""
    results: list[AnyResult] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    collected: Sequence["Group"] = field(default=(), repr=False)
    """Groups of all results, this one among them."""

    @property
    def newest(self) -> AnyResult:
        """The result appended last."""
        return self.results[-1]

    @property
    def data_name(self) -> str | None:
        """Name of the data file; None on a phone."""
        return self.newest.data.name if self.newest.data is not None else None

    @property
    def data(self) -> str | None:
        """Name of the data file in tables, with its hash where another file has the same name."""
        files = {g.newest.data for g in self.collected if g.data_name == self.data_name}
        own = self.newest.data
        return f"{own.name} ({own.sha256[:8]})" if own is not None and len(files) > 1 else self.data_name

    @property
    def on_phone(self) -> bool:
        """Return True where the results come from a phone."""
        return self.newest.data is None

    @property
    def scores(self) -> list[Accuracy]:
        """The newest scores of each model that has any."""
        return [e.accuracy for e in self.entries if e.accuracy]

    @property
    def times(self) -> list[Latency]:
        """The newest times of all models at every setting."""
        return [row for e in self.entries for row in e.times()]

    @property
    def longest(self) -> int | None:
        """The greatest length that any model was padded to with one thread and batch 1."""
        settings = (key for e in self.entries for key in e.latency if key[1:] == (1, 1))
        return max((padded_length(lengths) for lengths, *_ in settings), default=0) or None

    @property
    def shown_lengths(self) -> list[Lengths]:
        """Lengths of the times in a table with a line for each model: the longest padded, and unpadded."""
        padded: list[Lengths] = [self.longest] if self.longest else []
        return [*padded, UNPADDED] if any(e.unpadded for e in self.entries) else padded

    @cached_property
    def baseline(self) -> Accuracy | None:
        """The newest scores that name a baseline."""
        scores = (r for r in reversed(self.results) if isinstance(r, Accuracy) and r.baseline_sha256)
        return next(scores, None)

    @property
    def baseline_name(self) -> str | None:
        """Name of the model that F1 and speed are compared with."""
        return self.baseline.baseline if self.baseline is not None else None

    @property
    def baseline_entry(self) -> Entry | None:
        """The model that F1 and speed are compared with, if it is among these."""
        return next((e for e in self.entries if e.is_baseline), None)

    @property
    def compared_with_others(self) -> list[Entry]:
        """The entries whose F1 retained is relative to another baseline than the group's."""
        own = self.baseline.baseline_sha256 if self.baseline is not None else None
        return [e for e in self.entries if e.accuracy and e.accuracy.baseline_sha256 not in (None, own)]

    def baseline_times(self, row: Latency | None) -> Latency | None:
        """Return the baseline's times in the same run at the setting of `row`."""
        if row is None or self.baseline is None:
            return None
        setting = (self.baseline.baseline_sha256, row.lengths, row.threads, row.batch)
        times = (r for r in reversed(self.results) if isinstance(r, Latency) and r.toolchain is None)
        at_setting = (r for r in times if (r.bundle_sha256, r.lengths, r.threads, r.batch) == setting)
        return next((r for r in at_setting if same_run(r, row)), None)

    def speedup(self, row: Latency | None) -> Interval | float | None:
        """Return the speed-up over the baseline at the same setting in the same run, by mean times."""
        base = self.baseline_times(row)
        return 1.0 if row is not None and base is row else speedup(base, row)

    def in_another_run(self, row: Latency) -> Latency | None:
        """Return the baseline's times in the run of `row`, if its times in the table are of another run."""
        base = self.baseline_times(row)
        entry = self.baseline_entry
        shown = entry.at(row.lengths, row.threads, row.batch) if entry is not None else None
        return base if base is not None and shown is not None and not same_run(shown, row) else None
