"""The headline of a group: the best model, and the figures that support the choice."""

from benchmarks.results.stats import mean_of, speedup
from benchmarks.show.columns import RUNTIME_NAMES, package_of, words_of
from benchmarks.show.groups import Entry, Group
from benchmarks.show.tables import in_brackets, listed, number, plural

KEEPS_ENOUGH = 0.97  # F1 retained; from here on only speed counts
LOSS_ALLOWED = 1  # points of F1 below the baseline, for the file to ship
FEW_QUESTIONS = 200  # with fewer, the interval of F1 spans more than ten points
FP32 = "fp32"
NEAR_THE_MOST = 0.02  # if no model retains that much, speed counts among those this close to the most


def best_entry(group: Group) -> tuple[Entry | None, str]:
    """Return our fastest model that retains 97 % of the baseline's F1, and why it is the best.

    If none does, models within 2 points of the highest F1 retained count. If none was timed, the model that
    retains the most is the best. Speed is that with one thread: unpadded, or padded if none was timed so.
    """
    candidates = _candidates(group)
    lengths = [n for n in group.shown_lengths if any(group.speedup(e.at(n)) for e in candidates)]
    speed = {e: mean_of(group.speedup(e.at(lengths[-1]))) for e in candidates if lengths}
    timed = [e for e in candidates if speed.get(e)]
    if not timed:
        most_kept = max(candidates, key=lambda e: e.mean_retained, default=None)
        return most_kept, "keeps the most of F1; none was timed"
    most = max(e.mean_retained for e in timed)
    floor = KEEPS_ENOUGH
    why = f"at least {KEEPS_ENOUGH:.0%} of F1"
    if most < KEEPS_ENOUGH:
        floor = most - NEAR_THE_MOST
        near = f"F1 within {100 * NEAR_THE_MOST:g} points of the most"
        why = f"{near} (none timed retains {KEEPS_ENOUGH:.0%})"
    best = max((e for e in timed if e.mean_retained >= floor), key=speed.__getitem__)
    return best, f"the fastest that retains {why}"


def _candidates(group: Group) -> list[Entry]:
    """Return our models with all figures of a headline, without the baseline and what is not recommended.

    That is a model with a failure or with train-test overlap.
    """
    ours = [e for e in group.entries if not (e.is_baseline or e.is_toolchain or e.failure)]
    return [e for e in ours if e.may_be_recommended and e.retained is not None and e.newest.size_bytes]


def reference_for(group: Group, best: Entry) -> Entry | None:
    """Return the model that size and speed of the headline are compared with.

    This is the teacher's fp32 export, of the same runtime if there is one. If no fp32 export was measured, or
    for a PyTorch model, it is the baseline.
    """
    base = group.baseline_entry
    if base is None or not best.is_export:
        return base
    # A teacher stored in fewer bytes is exported from the fp32 bundle that it was cast from.
    cast_from = base.newest.parent_sha256 if base.newest.precision != FP32 else None
    sources = (base.newest.bundle_sha256, cast_from)
    fp32 = [e for e in group.entries if e.is_export and e.newest.precision == FP32]
    exports = [e for e in fp32 if e.newest.parent_sha256 in sources]
    if best in exports or not all(e.newest.size_bytes for e in exports):
        return base
    return min(exports, key=lambda e: package_of(e) != package_of(best), default=base)


def headline(group: Group) -> tuple[str, list[tuple[str, str]]]:
    """Return a sentence, and its figures as (figure, explanation)."""
    if group.on_phone:
        return f"{plural(len({r.model for r in group.results}), 'model')} on {group.machine}", []
    best, _ = best_entry(group)
    base = group.baseline_entry
    reference = reference_for(group, best) if best is not None else None
    if best is None or base is None or base.f1 is None or reference is None:
        return f"{plural(len(group.entries), 'model')} on {group.data}", []
    size = best.newest.size_bytes or 1
    reference_size = reference.newest.size_bytes or 1
    kept = f"{best.mean_retained:.1%}"
    kept_exact = number(best.exact_retained, ".1f", 100, "%")
    smaller, than = f"{reference_size / size:.1f} times smaller", "than"
    if round(reference_size / size, 1) == 1:
        smaller, than = "as large", "as"
    elif size > reference_size:
        smaller, than = f"{size / reference_size:.1f} times as large", "as"
    claims = [smaller]
    cards = [
        (number(best.f1), f"F1; {base.model} has {number(base.f1)}"),
        (kept, f"of {base.model}'s F1 retained; of its EM {kept_exact}"),
        *_parts_of_f1(best, base),
        (f"{size / 1e6:.1f} MB", f"{smaller} {than} {reference.model} ({reference_size / 1e6:.1f} MB)"),
    ]
    for lengths in group.shown_lengths:
        row = best.at(lengths)
        before = reference.at(lengths)
        ratio = speedup(before, row)
        if row is not None and before is not None and ratio is not None:
            times = f"{number(before.latency_ms_mean, '.1f')} ms, 1 thread{', quick' if row.quick else ''}"
            how, as_or_than = ("faster", "than") if mean_of(ratio) >= 1 else ("as fast", "as")
            faster = f"{mean_of(ratio):.1f} times {how}"
            where = words_of(lengths)
            other = f"{as_or_than} {reference.model} ({times})"
            explanation = f"a window {where}: {faster}{in_brackets(ratio)} {other}"
            cards.append((f"{number(row.latency_ms_mean, '.1f')} ms", explanation))
            claims.append(f"{faster} {where}")
    package = package_of(reference)
    described = f"{reference.model} ({RUNTIME_NAMES.get(package, package)}, {reference.newest.precision})"
    keeps = f"{best.model} keeps {kept} of {base.model}'s F1 and {kept_exact} of its EM"
    return f"{keeps}. Against {described} it is {listed(claims)}", cards


def _parts_of_f1(best: Entry, base: Entry) -> list[tuple[str, str]]:
    """Return the scores on questions with and without an answer, if the data have both."""
    scores = best.accuracy
    before = base.accuracy
    if scores is None or before is None or not scores.HasAns_total or not scores.NoAns_total:
        return []
    return [
        (
            number(scores.HasAns_f1),
            f"F1 on the {plural(scores.HasAns_total, 'question')} with an answer; "
            f"{base.model} has {number(before.HasAns_f1)}",
        ),
        (
            f"{number(scores.NoAns_exact)}%",
            f"of the {plural(scores.NoAns_total, 'question')} without an answer are declined; "
            f"{base.model} declines {number(before.NoAns_exact)}%",
        ),
    ]


def which_to_ship(group: Group) -> str:
    """Return the smallest export within LOSS_ALLOWED of the baseline's F1, with the rule, in words.

    Return an empty text where no export was scored against the baseline, or that is an export itself.
    """
    base = group.baseline_entry
    exports = [(e, e.f1) for e in _candidates(group) if e.is_export and e.f1 is not None]
    if base is None or base.is_export or base.f1 is None or not exports:
        return ""
    rule = f"the smallest export at most {plural(LOSS_ALLOWED, 'point')} of F1 below {base.model}"
    allowed = [(e, f1) for e, f1 in exports if f1 >= base.f1 - LOSS_ALLOWED]
    if not allowed:
        nearest, f1 = max(exports, key=lambda scored: scored[1])
        return f"none: {nearest.model} comes nearest, {base.f1 - f1:.2f} points of F1 below. The rule: {rule}"
    entry, f1 = min(allowed, key=lambda scored: (_megabytes(scored[0]), -scored[1]))
    if sum(_megabytes(other) == _megabytes(entry) for other, _ in allowed) > 1:
        rule += ", and of those of this size the one with the highest F1"
    row = entry.shortest
    time = f", {number(row.latency_ms_mean, '.1f')} ms {words_of(row.lengths)}" if row is not None else ""
    difference = f"{abs(f1 - base.f1):.2f} points {'below' if f1 < base.f1 else 'above'} {base.model}"
    return f"{entry.model}: {_megabytes(entry)} MB{time}, F1 {f1:.2f} ({difference}). The rule: {rule}"


def _megabytes(entry: Entry) -> float:
    """Return the size of a model's file in MB, as tables show it."""
    return round((entry.newest.size_bytes or 0) / 1e6, 1)


def few_questions(group: Group) -> str:
    """Warn about scores on fewer than FEW_QUESTIONS questions; empty where there are more."""
    fewest = min((scores.n for scores in group.scores), default=FEW_QUESTIONS)
    if fewest >= FEW_QUESTIONS:
        return ""
    chance = "differences of a few points of F1 are chance"
    return f"{group.data}: only {plural(fewest, 'question')} scored; {chance}. Score at least {FEW_QUESTIONS}"
