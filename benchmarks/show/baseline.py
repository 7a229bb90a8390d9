"""The baseline of existing results: every comparison has one, and another one needs no new measurement."""

from collections.abc import Sequence

import numpy as np

from benchmarks.results.rows import HERE, Accuracy, AnyResult
from benchmarks.show.groups import Group
from benchmarks.show.questions import Kept
from qa.bundles.manifest import TEACHER_STAGES
from qa.evaluation.bootstrap import score_intervals


def set_baseline(results: Sequence[AnyResult], sha256: str | None = None) -> None:
    """Compare the scores of this machine with the bundle of that hash, in place.

    Without a hash, scores that name a baseline keep it. Others are compared with the first teacher, else with
    the first model, of the same data and target.
    """
    places: dict[object, list[Accuracy]] = {}
    for result in results:
        if isinstance(result, Accuracy) and result.target in HERE:
            place = (result.target, result.data.sha256, result.machine)
            places.setdefault(place, []).append(result)
    for scores in places.values():
        named = [r for r in scores if r.bundle_sha256 == sha256]
        if not named and any(r.baseline_sha256 for r in scores):
            continue
        bundles = [r for r in scores if r.toolchain is None]
        teachers = [r for r in bundles if r.stage in TEACHER_STAGES]
        if base := [*named[-1:], *teachers, *bundles][:1]:
            for result in scores:
                _compare(result, base[0])


def _compare(result: Accuracy, base: Accuracy) -> None:
    """Compare scores with those of the baseline; intervals need the answers."""
    if result.same_answers_as == result.baseline and result.parent_sha256 != result.baseline_sha256:
        result.same_answers = result.same_answers_as = None
    result.baseline = base.model
    result.baseline_sha256 = base.bundle_sha256
    result.f1_retained = result.f1 / base.f1 if base.f1 else None
    result.f1_retained_low = result.f1_retained_high = None
    result.exact_retained_low = result.exact_retained_high = None


def add_intervals(groups: Sequence[Group], kept: Kept) -> None:
    """Add the missing intervals of F1 retained, in place, where the answers are kept."""
    articles = [example.title for example in kept.examples]
    for group in groups:
        base = group.baseline_entry
        for entry in group.entries if base in kept.f1 else []:
            assert base is not None
            scores = entry.accuracy
            if scores is not None and entry is not base and entry in kept.f1 and not scores.retained_interval:
                _add_interval(scores, kept.f1[entry], kept.f1[base], articles)


def _add_interval(scores: Accuracy, f1: np.ndarray, base_f1: np.ndarray, articles: Sequence[str]) -> None:
    """Add the interval of F1 retained from the F1 (Q,) of every question, paired with the baseline's."""
    _, (retained, _), scores.resampled = score_intervals(np.stack([f1, base_f1], axis=1), articles, 1)
    if retained is not None:
        scores.f1_retained_low = round(retained.low, 6)
        scores.f1_retained_high = round(retained.high, 6)
