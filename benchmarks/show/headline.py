"""The headline of a group: the best model, and the figures that support the choice."""

from benchmarks.results.rows import Latency
from benchmarks.results.stats import mean_of
from benchmarks.show.columns import words_of
from benchmarks.show.groups import Entry, Group
from benchmarks.show.tables import number, plural, span
from qa.evaluation.bootstrap import Interval

KEEPS_ENOUGH = 0.97  # F1 retained; from here on only speed counts
NEAR_THE_MOST = 0.02  # if no model retains that much, speed counts among those this close to the most


def best_entry(group: Group) -> Entry | None:
    """Return our fastest model that retains 97 % of the baseline's F1.

    If none does, models within 2 points of the highest F1 retained count. If none was timed, the model that
    retains the most is the best.
    """
    candidates = _candidates(group)
    timed = [e for e in candidates if _speedup(group, e)]
    most = max((mean_retained(group, e) for e in timed or candidates), default=0)
    if not timed:
        return next((e for e in candidates if mean_retained(group, e) == most), None)
    floor = KEEPS_ENOUGH if most >= KEEPS_ENOUGH else most - NEAR_THE_MOST
    return max((e for e in timed if mean_retained(group, e) >= floor), key=lambda e: _speedup(group, e))


def _candidates(group: Group) -> list[Entry]:
    """Return our models with all figures of a headline, except the baseline."""
    complete = [e for e in group.entries if group.retained(e) is not None and e.newest.size_bytes]
    return [e for e in complete if not group.is_baseline(e) and not e.is_toolchain]


def mean_retained(group: Group, entry: Entry) -> float:
    """Return F1 retained without its interval, 0 when unknown."""
    return mean_of(group.retained(entry)) or 0.0


def _speedup(group: Group, entry: Entry) -> float:
    """Return the mean speed-up with one thread: unpadded, or padded if no candidate was timed unpadded."""
    lengths = [n for n in group.shown_lengths if any(group.speedup(e.at(n)) for e in _candidates(group))]
    row: Latency | None = entry.at(lengths[-1]) if lengths else None
    return mean_of(group.speedup(row)) or 0.0


def why_best(group: Group, best: Entry) -> str:
    """Return the reason for the choice of `best_entry`."""
    if not _speedup(group, best):
        return "keeps the most of F1; none was timed"
    enough = f"at least {KEEPS_ENOUGH:.0%} of F1"
    near = f"F1 within {100 * NEAR_THE_MOST:g} points of the most (none timed retains {KEEPS_ENOUGH:.0%})"
    return f"the fastest that retains {enough if mean_retained(group, best) >= KEEPS_ENOUGH else near}"


def headline(group: Group) -> tuple[str, list[tuple[str, str]]]:
    """Return a sentence, and its figures as (figure, explanation)."""
    if group.on_phone:
        return f"{plural(len({r.model for r in group.results}), 'model')} on {group.machine}", []
    best = best_entry(group)
    base = group.baseline_entry
    if best is None or base is None or base.f1 is None or best.f1 is None or not base.newest.size_bytes:
        return f"{plural(len(group.entries), 'model')} on {group.data}", []
    retained = mean_retained(group, best)
    size = best.newest.size_bytes or 1
    base_size = base.newest.size_bytes
    smaller = f"{base_size / size:.1f} times smaller"
    claims = [smaller]
    cards = [
        (f"{best.f1:.2f}", f"F1; {base.model} has {base.f1:.2f}"),
        (f"{retained:.1%}", f"of {base.model}'s F1 retained"),
        (f"{size / 1e6:.1f} MB", f"{smaller} than {base_size / 1e6:.1f} MB"),
    ]
    for lengths in group.shown_lengths:
        row = best.at(lengths)
        if row is not None and (ratio := group.speedup(row)) is not None:
            times = f"mean {number(row.latency_ms_mean, '.1f')} ms, 1 thread{', quick' if row.quick else ''}"
            cards.append(
                (f"{mean_of(ratio):.1f}x", f"faster, both {words_of(lengths)}{_ends(ratio)}: {times}")
            )
            claims.append(f"{mean_of(ratio):.1f} times faster {words_of(lengths)}")
    if (gain := group.padding_gain(best)) is not None:
        padded = f"{best.model} unpadded instead of padded to {group.longest}{_ends(gain)}"
        cards.append((f"{mean_of(gain):.1f}x", padded))
    return f"{best.model} keeps {retained:.1%} of {base.model}'s F1: {', '.join(claims)}", cards


def _ends(value: Interval | float) -> str:
    return f" (95 %: {span(value)})" if isinstance(value, Interval) else ""
