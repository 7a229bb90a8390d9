"""The tables and the plot of the heads out of results and of every question's scores. Nothing is measured
here.

A difference from the reference head is called more than noise when it passes both of these: the paired
bootstrap's interval over articles leaves out 0, and, where heads were trained with several seeds, the
difference exceeds what seeds alone do: Student's t times s sqrt(2 / k), with s the deviation between seeds
pooled over all heads and k the seeds behind each of the two means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiments.base import QuestionScores
from benchmarks.measure.conditions import machine
from benchmarks.results.rows import BUSY, UNPADDED, Accuracy, AnyResult, Data, Failure, Latency
from benchmarks.results.stats import score_interval, t_quantile
from benchmarks.show.footnotes import busy_cores
from benchmarks.show.plots import Plot, Point, as_svg
from benchmarks.show.tables import UNKNOWN, Table, number, text_table
from qa.base.files import write_whole
from qa.data.squad import Example
from qa.evaluation.bootstrap import LEVEL, N_RESAMPLES, Interval
from qa.models.standalone import STANDALONE_MODELS

REFERENCE = "linear"
MARKERS_NAME = "zoo"
# Whole models start from fresh weights, which the rate of a pre-trained encoder would hardly move (Yu et al.
# 2018 took 1e-3).
WHOLE_MODEL_RATE = 1e-3
EXPORTS = {
    "onnx-fp32": "ONNX fp32",
    "onnx-int8": "ONNX int8",
    "tflite-fp32": "TFLite fp32",
    "tflite-int8": "TFLite int8",
}
CHANGES = {export: f"{EXPORTS[export]} F1" for export in ("onnx-int8", "tflite-int8")}
PARTS = {"HasAns_exact": "HasAns EM", "HasAns_f1": "HasAns F1", "NoAns_exact": "NoAns"}


@dataclass(frozen=True)
class HeadDifference:
    """A head against the reference, in points of F1."""

    difference: Interval
    by_seed: tuple[float, ...]
    """The differences of the seeds both were trained with."""
    spread: float | None
    """Highest less lowest F1 of the head's own seeds; None with one."""
    seed_margin: float | None
    """What seeds alone may make of a difference; None when no head has several."""

    @property
    def verdict(self) -> str:
        """In plain language, whether the difference exceeds noise."""
        if self.difference.holds_zero:
            return "within the noise of questions"
        if self.seed_margin is None:
            return "exceeds the noise of questions; seeds not tried"
        if abs(self.difference.mean) <= self.seed_margin:
            return "within the noise of seeds"
        return "exceeds noise"


@dataclass(frozen=True)
class HeadsResults:
    """What was measured: results of all models, and their scores by the model's name; `training` is what they
    share."""

    heads: Sequence[str]
    seeds: Sequence[int]
    results: Sequence[AnyResult]
    scores: Mapping[str, QuestionScores]
    data: Data
    examples: Sequence[Example]
    training: Mapping[str, Any]

    @cached_property
    def articles(self) -> list[str]:
        """Of every question."""
        return [e.title for e in self.examples]

    @cached_property
    def accuracy(self) -> dict[str, dict[int, Accuracy]]:
        """By head and seed the newest accuracy of the bundle the scores are of; heads without any are left
        out."""
        found: dict[str, dict[int, Accuracy]] = {}
        wanted = {(name, scores.bundle_sha256) for name, scores in self.scores.items()}
        for one in self.results:
            if not isinstance(one, Accuracy) or (one.data, one.n) != (self.data, len(self.examples)):
                continue
            if (one.model, one.bundle_sha256) in wanted and one.head and one.seed is not None:
                found.setdefault(one.head, {})[one.seed] = one
        return {head: found[head] for head in self.heads if head in found}

    def f1(self, head: str, seeds: Sequence[int] | None = None) -> np.ndarray:
        """F1 (Q,) of every question in percent, the mean over seeds (all the head has, unless given)."""
        chosen = self.accuracy[head] if seeds is None else seeds
        return np.mean([self.scores[f"{head}-seed{seed}"].array(self.examples) for seed in chosen], axis=0)

    def mean(self, head: str, key: str) -> float | None:
        """Mean of a score over the head's seeds."""
        values = [value for one in self.accuracy[head].values() if (value := getattr(one, key)) is not None]
        return float(np.mean(values)) if values else None

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """F1 of every head with its interval."""
        return {head: score_interval(self.f1(head), self.articles) for head in self.accuracy}

    @cached_property
    def seed_deviation(self) -> tuple[float, int] | None:
        """(deviation of F1 between seeds pooled over heads, degrees of freedom), or None when no head has
        several seeds."""
        values = [np.array([one.f1 for one in found.values()]) for found in self.accuracy.values()]
        freedom = sum(len(v) - 1 for v in values)
        return (
            (float(np.sqrt(sum(((v - v.mean()) ** 2).sum() for v in values) / freedom)), freedom)
            if freedom
            else None
        )

    @cached_property
    def comparisons(self) -> dict[str, HeadDifference]:
        """Every head that shares a seed with the reference, against it."""
        found = {}
        for head in self.accuracy if REFERENCE in self.accuracy else ():
            shared = [seed for seed in self.accuracy[head] if seed in self.accuracy[REFERENCE]]
            if head == REFERENCE or not shared:
                continue
            own = self.accuracy[head]
            base = self.accuracy[REFERENCE]
            all_f1 = [one.f1 for one in own.values()]
            margin = None
            if self.seed_deviation is not None:
                deviation, freedom = self.seed_deviation
                margin = t_quantile(freedom) * deviation * float(np.sqrt(2 / len(shared)))
            difference = score_interval(self.f1(head, shared) - self.f1(REFERENCE, shared), self.articles)
            by_seed = tuple(own[seed].f1 - base[seed].f1 for seed in shared)
            found[head] = HeadDifference(
                difference, by_seed, max(all_f1) - min(all_f1) if len(all_f1) > 1 else None, margin
            )
        return found

    def of_export(self, head: str, export: str) -> list[AnyResult]:
        """All results of an export of the first seed's model, on this machine."""
        if self.seeds[0] not in self.accuracy.get(head, {}):
            return []
        name = f"{head}-seed{self.seeds[0]}-{export}"
        return [one for one in self.results if one.model == name and one.machine == machine()]

    def timed(self, head: str, export: str) -> Latency | Failure | None:
        """The newest unpadded times of an export, or why there are none."""
        for one in reversed(self.of_export(head, export)):
            if isinstance(one, Failure) or (isinstance(one, Latency) and one.lengths == UNPADDED):
                return one
        return None

    def change(self, head: str, export: str) -> float | None:
        """F1 of an export less that of the model it was made of, on the same questions."""
        found = self.of_export(head, export)
        if not found or isinstance(found[-1], Failure):
            return None
        wanted = (self.data, len(self.examples), found[-1].bundle_sha256)
        scored = [r for r in found if isinstance(r, Accuracy) and (r.data, r.n, r.bundle_sha256) == wanted]
        return scored[-1].f1 - self.accuracy[head][self.seeds[0]].f1 if scored else None

    @cached_property
    def failures(self) -> list[str]:
        """A line for every model and export whose newest result is a failure."""
        newest = {one.model: one for one in self.results if one.head in self.heads and one.seed in self.seeds}
        return [f"{name}: {one.error}" for name, one in newest.items() if isinstance(one, Failure)]


def export_cell(one: Latency | Failure | None) -> str:
    """Mean milliseconds, or a word for why there are none."""
    if isinstance(one, Failure):
        return "not supported" if one.unsupported else "failed"
    return UNKNOWN if one is None else number(one.latency_ms_mean, ".1f")


def main_table(results: HeadsResults) -> Table:
    """A line for each head: parameters, scores, the latency of its exports, and what int8 changes."""
    parts = {
        key: title
        for key, title in PARTS.items()
        if any(results.mean(head, key) is not None for head in results.accuracy)
    }
    headings = (
        "head",
        "head params",
        "non-emb.",
        "params",
        "seeds",
        "EM",
        "F1",
        f"{LEVEL:.0%} of F1",
        *parts.values(),
        *EXPORTS.values(),
        *CHANGES.values(),
    )
    lines = []
    for head in results.heads:
        if head not in results.accuracy:
            lines.append((head, *[UNKNOWN] * (len(headings) - 1)))
            continue
        one = next(iter(results.accuracy[head].values()))
        found = results.intervals[head]
        lines.append(
            (
                head,
                f"{one.head_params:,}",
                number(one.params_without_embeddings, ".2f", 1e-6, "M"),
                number(one.params, ".2f", 1e-6, "M"),
                str(len(results.accuracy[head])),
                number(results.mean(head, "exact")),
                number(found.mean),
                f"{found.low:.1f} to {found.high:.1f}",
                *(number(results.mean(head, key)) for key in parts),
                *(export_cell(results.timed(head, export)) for export in EXPORTS),
                *(number(results.change(head, export), "+.2f") for export in CHANGES),
            )
        )
    layers = results.training["layers"]
    encoder = (
        f"{ {None: '', 1: '1 layer of '}.get(layers, f'{layers} layers of ') }{results.training['encoder']}"
    )
    title = f"Heads on {encoder}, {results.data.name}, {len(results.examples):,} questions"
    return text_table(title, headings, lines, conditions(results))


def conditions(results: HeadsResults) -> list[str]:
    """How the models were trained and measured, and what failed."""
    training = results.training
    frozen = ", encoder frozen" if training["freeze_encoder"] else ""
    notes = [
        f"trained on {training['windows']:,} windows of {training['data']['name']}, batch "
        f"{training['batch_size']}, "
        f"{training['optimizer']}, peak learning rate {training['learning_rate']:g}{frozen}; the same "
        "windows in the same order "
        "for all heads of a seed",
        f"EM and F1 in PyTorch fp32, means over the seeds; interval: bootstrap over articles, "
        f"{N_RESAMPLES:,} resamples",
    ]
    whole = [head for head in results.heads if head in STANDALONE_MODELS]
    if whole:
        notes.append(
            f"{', '.join(whole)}: whole models of fresh weights and the encoder's word vectors, at a rate of "
            f"{WHOLE_MODEL_RATE:g}; their head is the output layer"
        )
    if any(results.change(head, export) is not None for head in results.heads for export in CHANGES):
        notes.append("int8 F1: F1 of the export less that of its PyTorch model")
    timed = [
        one for head in results.heads for e in EXPORTS if isinstance(one := results.timed(head, e), Latency)
    ]
    if timed:
        runtimes = ", ".join(dict.fromkeys(str(one.runtime) for one in timed))
        notes.append(
            "ms: mean of the runtime call for one window, unpadded, 1 thread; each column was measured in "
            "turns"
        )
        notes.append(f"{machine()}; {runtimes}")
        busy = busy_cores(timed)
        notes += (
            [f"other processes kept {busy:.1f} cores busy while times were measured"] if busy >= BUSY else []
        )
    return notes + results.failures


def comparison_table(results: HeadsResults) -> Table | None:
    """Every head against the reference; None when there is nothing to compare."""
    if not results.comparisons:
        return None
    ordered = sorted(results.comparisons.items(), key=lambda item: -item[1].difference.mean)
    lines = [
        (
            head,
            f"{one.difference.mean:+.2f}",
            f"{one.difference.low:+.2f} to {one.difference.high:+.2f}",
            ", ".join(f"{value:+.2f}" for value in one.by_seed),
            number(one.spread),
            one.verdict,
        )
        for head, one in ordered
    ]
    notes = [
        f"F1 of the head less F1 of {REFERENCE} on the same questions, mean over the seeds both have; "
        f"interval: {LEVEL:.0%}, "
        "of a bootstrap over articles, paired",
        f"of {len(lines)} such intervals {len(lines) * (1 - LEVEL):.1f} leave out 0 by chance alone",
    ]
    if results.seed_deviation is not None:
        deviation, freedom = results.seed_deviation
        notes.append(
            "spread: highest less lowest F1 between the head's seeds; deviation between seeds, pooled over "
            "heads: "
            f"{deviation:.2f} ({freedom} degrees of freedom)"
        )
    headings = ("head", f"F1 - {REFERENCE}", "interval", "by seed", "spread", "in words")
    return text_table(f"Differences from {REFERENCE}", headings, lines, notes)


def plot_of(heads: Mapping[str, tuple[int, Interval]]) -> Plot:
    """F1 with its interval against the parameters of the head, both by its name. Whole models have no head
    and are left out."""
    shown = {head: found for head, found in heads.items() if head not in STANDALONE_MODELS and found[0]}
    points = [Point(head, n, f"{n:,}", f1.mean, f1, "torch", "fp32") for head, (n, f1) in shown.items()]
    return Plot("Heads", f"parameters of the head; lines: {LEVEL:.0%} intervals", points)


def draw(results: HeadsResults, path: Path) -> None:
    """The plot as a file; nothing where no head has been scored."""
    params = {head: next(iter(found.values())).head_params or 0 for head, found in results.accuracy.items()}
    plot = plot_of({head: (params[head], f1) for head, f1 in results.intervals.items()})
    if plot.points:
        write_whole(path, as_svg(plot))
