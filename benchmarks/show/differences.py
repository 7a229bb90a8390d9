"""Differences of F1 from a baseline, paired question by question, and whether they exceed noise.

A difference exceeds noise when it passes two tests. First, the interval of the paired bootstrap leaves out 0.
Second, where models were trained with several seeds, the difference is larger than seeds alone make it:
Student's t times s sqrt(1 / k + 1 / n). Here s is the deviation of F1 between seeds, pooled over all models
of the file; k and n are the numbers of seeds behind the mean of the model and that of the baseline. Models
exported from the baseline's trainings, or the reverse, share their seeds and need no second test.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.results.stats import t_quantile
from benchmarks.show.tables import Column, Table, make_table
from qa.base.errors import OptionError
from qa.evaluation.bootstrap import LEVEL, MIN_QUESTIONS, N_RESAMPLES, Interval, Resampled, score_interval

SEED = re.compile(r"-seed(\d+)")
EXPORT = re.compile(r"-(?:onnx|tflite)-.*")
Scores = dict[int | None, np.ndarray]
"""F1 (Q,) of every question in percent, by seed; None for a model without a seed in its name."""


@dataclass(frozen=True)
class Difference:
    """F1 of a model less that of the baseline, in points."""

    model: str
    f1: float
    """Mean over the model's seeds, in percent."""
    interval: Interval
    resampled: Resampled
    by_seed: tuple[float, ...]
    """Difference of each seed that both have."""
    spread: float | None
    """Highest less lowest F1 between the model's seeds; None with one seed."""
    seed_margin: float | None
    """Largest difference that seeds alone explain; None when no model has several, 0 for exports of the same
    trainings."""

    @property
    def verdict(self) -> str:
        """Say in words if the difference exceeds noise."""
        if self.interval.low <= 0 <= self.interval.high:
            return "within the noise of questions"
        if self.seed_margin is None:
            return "exceeds the noise of questions; seeds not tried"
        if abs(self.interval.mean) <= self.seed_margin:
            return "within the noise of seeds"
        return "exceeds noise"


def split_seed(model: str) -> tuple[str, int | None]:
    """Split "linear-seed1-onnx-int8" into ("linear-onnx-int8", 1)."""
    match = SEED.search(model)
    if match is None:
        return model, None
    return model[: match.start()] + model[match.end() :], int(match.group(1))


def by_seed(f1: Mapping[str, np.ndarray]) -> dict[str, Scores]:
    """Group models whose names differ only in their seed."""
    grouped: dict[str, Scores] = {}
    for model, scores in f1.items():
        name, seed = split_seed(model)
        grouped.setdefault(name, {})[seed] = scores
    return grouped


def training_of(model: str) -> str:
    """Return the name of what was trained: that of a model, and of its exports, without a seed."""
    return EXPORT.sub("", split_seed(model)[0])


def seed_deviation(f1: Mapping[str, np.ndarray]) -> tuple[float, int] | None:
    """Return the deviation of F1 between seeds, pooled over models, and its degrees of freedom.

    Of a model and its exports, the first with most seeds counts. None when no model has several seeds.
    """
    models = by_seed(f1)
    trainings: dict[str, Scores] = {}
    for name, seeds in models.items():
        if len(seeds) > len(trainings.get(training_of(name), {})):
            trainings[training_of(name)] = seeds
    means = [np.array([f1.mean() for f1 in seeds.values()]) for seeds in trainings.values()]
    freedom = sum(len(values) - 1 for values in means)
    if freedom == 0:
        return None
    squares = sum(((values - values.mean()) ** 2).sum() for values in means)
    return float(np.sqrt(squares / freedom)), freedom


def differences(
    f1: Mapping[str, np.ndarray], baseline: str, articles: Sequence[str], names: Collection[str] | None = None
) -> list[Difference]:
    """Compare models with the baseline on the seeds that both have, best first; of `names`, else all.

    A baseline without seeds is compared with every seed. Models that share no seed with it are left out.
    """
    models = by_seed(f1)
    base = models[baseline]
    deviation = seed_deviation(f1)
    found = []
    for model, seeds in models.items():
        pairs = [(f1, base.get(seed, base.get(None))) for seed, f1 in seeds.items()]
        changes = [own - other for own, other in pairs if other is not None]
        if model == baseline or not changes or (names is not None and model not in names):
            continue
        means = [float(f1.mean()) for f1 in seeds.values()]
        margin = 0.0 if training_of(model) == training_of(baseline) else None
        if margin is None and deviation is not None:
            n_base = 1 if None in base else len(changes)  # one baseline is paired with every seed
            margin = t_quantile(deviation[1]) * deviation[0] * float(np.sqrt(1 / len(changes) + 1 / n_base))
        found.append(
            Difference(
                model,
                float(np.mean(means)),
                *score_interval(np.mean(changes, axis=0), articles),
                tuple(float(change.mean()) for change in changes),
                max(means) - min(means) if len(means) > 1 else None,
                margin,
            )
        )
    return sorted(found, key=lambda difference: -difference.interval.mean)


def difference_table(
    f1: Mapping[str, np.ndarray],
    baseline: str,
    articles: Sequence[str],
    data: str,
    names: Collection[str] | None = None,
) -> Table:
    """Return the table of what `differences` finds. OptionError without any, or for too few questions."""
    if len(articles) < MIN_QUESTIONS:
        raise OptionError(f"{data}: {len(articles)} questions; an interval takes at least {MIN_QUESTIONS}")
    models = by_seed(f1)
    found = differences(f1, baseline, articles, names)
    asked = models.keys() if names is None else set(names)
    apart = ", ".join(sorted(asked - {baseline} - {difference.model for difference in found}))
    if not found:
        why = f"shares no seed with {apart}" if apart else "is the only model"
        raise OptionError(f"--baseline {baseline}: {why}; name another")
    columns = [
        Column("model", "model"),
        Column("F1", "f1", ".2f"),
        Column(f"F1 - {baseline}", "interval.mean", "+.2f"),
        Column("interval", lambda one: f"{one.interval.low:+.2f} to {one.interval.high:+.2f}", ""),
        Column("by seed", lambda one: ", ".join(f"{value:+.2f}" for value in one.by_seed), ""),
        Column("spread", "spread", ".2f"),
        Column("in words", "verdict", ""),
    ]
    over = found[0].resampled
    base = float(np.mean([f1.mean() for f1 in models[baseline].values()]))
    notes = [
        f"F1 of {baseline}: {base:.2f}, mean over its seeds",
        f"interval: {LEVEL:.0%}, bootstrap over {over}, paired by question, {N_RESAMPLES:,} resamples",
        f"of {len(found)} intervals {len(found) * (1 - LEVEL):.1f} leave out 0 by chance",
    ]
    if None not in models[baseline] and any(
        models[one.model].keys() ^ models[baseline].keys() for one in found
    ):
        notes.append(f"F1 - {baseline}: over the seeds that both have")
    if apart:
        notes.append(f"left out, as they share no seed with {baseline}: {apart}")
    deviation = seed_deviation(f1)
    if deviation is not None:
        notes.append(
            "spread: highest less lowest F1 between seeds; deviation between seeds, pooled over models: "
            f"{deviation[0]:.2f} ({deviation[1]} degrees of freedom)"
        )
    title = f"Differences from {baseline}, {data}, {len(articles):,} questions"
    return make_table(title, columns, found, notes)
