"""What a comparison found, in one sentence and a few figures."""

from benchmarks.rows import Row
from benchmarks.views.cells import span
from benchmarks.views.groups import REAL, Entry, Group

KEEPS_ENOUGH = 0.97  # F1 retained from which on only speed counts
NEAR_THE_MOST = 0.02  # where no model keeps that much, speed counts among those this near to the one that keeps most
SAID = {"f1", "size_bytes"}  # of a model, in any headline


def best_entry(group: Group) -> Entry | None:
    """The fastest of ours that keeps 97 % of the baseline's F1, or where none does is within 2 points of the most.

    Of models that were timed; where none was, the one that keeps the most. Times are those of `deciding_row`.
    """
    known = _candidates(group)
    timed = [e for e in known if group.speedup(deciding_row(group, e)) is not None]
    most = max((e.facts["f1_retained"] for e in timed or known), default=0)
    if not timed:
        return next((e for e in known if e.facts["f1_retained"] == most), None)
    floor = KEEPS_ENOUGH if most >= KEEPS_ENOUGH else most - NEAR_THE_MOST
    good = [e for e in timed if e.facts["f1_retained"] >= floor]
    return max(good, key=lambda e: group.speedup(deciding_row(group, e)) or 0)


def _candidates(group: Group) -> list[Entry]:
    """The models that are neither the baseline nor another tool's, and of which all is known that a headline says."""
    known = [e for e in group.entries if group.retained(e) is not None and e.facts.keys() >= SAID]
    return [e for e in known if not group.is_baseline(e) and not e.is_peer]


def deciding_row(group: Group, entry: Entry) -> Row:
    """The times by which models are chosen: at real lengths with one thread, or where none of ours has them padded."""
    real = any(group.speedup(e.at(REAL)) is not None for e in _candidates(group))
    return entry.at(REAL) if real else entry.at(group.longest)


def why_best(group: Group, best: Entry) -> str:
    """What `best_entry` chose it for."""
    if group.speedup(deciding_row(group, best)) is None:
        return "keeps the most of F1; none was timed"
    enough = f"at least {KEEPS_ENOUGH:.0%} of F1"
    near = f"F1 within {100 * NEAR_THE_MOST:g} points of the most (none timed retains {KEEPS_ENOUGH:.0%})"
    return f"the fastest that retains {enough if best.facts['f1_retained'] >= KEEPS_ENOUGH else near}"


def baseline_entry(group: Group) -> Entry | None:
    """The model that F1 and speed are compared with."""
    return next((e for e in group.entries if group.is_baseline(e)), None)


def headline(group: Group) -> tuple[str, list[tuple[str, str]]]:
    """One sentence, and the figures that carry it as (figure, what it is)."""
    if group.on_phone:
        n_models = len({row["model"] for row in group.rows})
        return f"{n_models} model{'s' if n_models > 1 else ''} on {group.machine}", []
    best, base = best_entry(group), baseline_entry(group)
    if best is None or base is None or not base.facts.keys() >= SAID:
        return f"{len(group.entries)} model{'s' if len(group.entries) > 1 else ''} on {group.data}", []
    teacher, retained, size = base.facts["model"], best.facts["f1_retained"], best.facts["size_bytes"]
    smaller = base.facts["size_bytes"] / size
    cards = [
        (f"{best.facts['f1']:.2f}", f"F1; {teacher} has {base.facts['f1']:.2f}"),
        (f"{retained:.1%}", f"of {teacher}'s F1 retained"),
        (f"{size / 1e6:.1f} MB", f"{smaller:.1f} times smaller than {base.facts['size_bytes'] / 1e6:.1f} MB"),
    ]
    said = [f"{smaller:.1f} times smaller"]
    for lengths in group.lengths_shown:
        card, words = f"faster, both padded to {lengths}", "{:.1f} times faster"
        if lengths == REAL:
            card, words = f"faster than {teacher} padded, at real lengths", "{:.1f} times with real lengths"
        row = best.at(lengths)
        if (faster := group.speedup(row)) is not None:
            interval = group.speedup_interval(row)
            ends = f" (95 %: {span(interval)})" if interval else ""
            quick = ", quick" if row.get("quick") else ""
            cards.append((f"{faster:.1f}x", f"{card}{ends}: mean {row['latency_ms_mean']:.1f} ms, 1 thread{quick}"))
            said.append(words.format(faster))
    return f"{best.facts['model']} keeps {retained:.1%} of {teacher}'s F1: {', '.join(said)}", cards
