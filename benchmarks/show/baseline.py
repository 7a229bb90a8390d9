"""Another baseline of existing results, which needs no new measurement."""

from collections.abc import Sequence

from benchmarks.measure.accuracy import answer_intervals
from benchmarks.results.rows import HERE, Accuracy, AnyResult
from benchmarks.show.groups import Group
from benchmarks.show.questions import Kept


def set_baseline(results: Sequence[AnyResult], sha256: str) -> None:
    """Compare the scores of this machine with the bundle of that hash, in place, where it was scored too."""
    places: dict[object, list[Accuracy]] = {}
    for result in results:
        if isinstance(result, Accuracy) and result.target in HERE:
            place = (result.target, result.data.sha256, result.machine)
            places.setdefault(place, []).append(result)
    for scores in places.values():
        named = [r for r in scores if r.bundle_sha256 == sha256]
        for result in scores if named else ():
            _compare(result, named[-1])


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
    """Add the missing intervals of what is retained, in place, where the answers are kept."""
    for group in groups:
        base = group.baseline_entry
        for entry in group.entries if base in kept.answers else []:
            assert base is not None
            scores = entry.accuracy
            missing = scores is not None and scores.f1_retained_low is None
            if missing and entry is not base and entry in kept.answers:
                intervals = answer_intervals(kept.examples, kept.answers[entry], kept.answers[base])
                for name, value in intervals.items():
                    setattr(scores, name, value)
