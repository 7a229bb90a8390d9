"""What a comparison found, in one sentence and a few figures."""

from benchmarks.views.cells import span
from benchmarks.views.groups import Entry, Group

KEEPS_ENOUGH = 0.97  # F1 retained from which on only speed counts
NEAR_THE_MOST = 0.02  # where no model keeps that much, speed counts among those this near to the one that keeps most


def best_entry(group: Group) -> Entry | None:
    """The fastest of ours (real lengths, 1 thread) that keeps 97 % of the baseline's F1, or else within 2 points of the most.

    Of models that were timed; where none was, the one that keeps the most.
    """
    known = [e for e in group.entries if group.retained(e) is not None and not group.is_baseline(e) and not e.is_peer]
    timed = [e for e in known if is_timed(group, e)]
    most = max((e.facts["f1_retained"] for e in timed or known), default=0)
    if not timed:
        return next((e for e in known if e.facts["f1_retained"] == most), None)
    good = [e for e in timed if e.facts["f1_retained"] >= min(KEEPS_ENOUGH, most - NEAR_THE_MOST)]
    return max(good, key=lambda e: group.speedup(e.at("real", 1)) or 0)


def is_timed(group: Group, entry: Entry) -> bool:
    """Whether its speed at real lengths is known against the baseline's."""
    return group.speedup(entry.at("real", 1)) is not None


def why_best(group: Group, best: Entry) -> str:
    """What `best_entry` chose it for."""
    if not is_timed(group, best):
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
    if best is None or base is None:
        return f"{len(group.entries)} model{'s' if len(group.entries) > 1 else ''} on {group.data}", []
    teacher, retained, size = base.facts["model"], best.facts["f1_retained"], best.facts["size_bytes"]
    smaller = base.facts["size_bytes"] / size
    cards = [
        (f"{best.facts['f1']:.2f}", f"F1; {teacher} has {base.facts['f1']:.2f}"),
        (f"{retained:.1%}", f"of {teacher}'s F1 retained"),
        (f"{size / 1e6:.1f} MB", f"{smaller:.1f} times smaller than {base.facts['size_bytes'] / 1e6:.1f} MB"),
    ]
    said = [f"{smaller:.1f} times smaller"]
    for lengths, card, words in (
        ("padded", "faster, both padded", "{:.1f} times faster"),
        ("real", f"faster than {teacher} padded, at real lengths", "{:.1f} times with real lengths"),
    ):
        row = best.at(lengths, 1)
        if (faster := group.speedup(row)) is not None:
            interval = group.speedup_interval(row)
            ends = f" (95 %: {span(interval)})" if interval else ""
            quick = ", quick" if row.get("quick") else ""
            cards.append((f"{faster:.1f}x", f"{card}{ends}: mean {row['latency_ms_mean']:.1f} ms, 1 thread{quick}"))
            said.append(words.format(faster))
    return f"{best.facts['model']} keeps {retained:.1%} of {teacher}'s F1: {', '.join(said)}", cards
