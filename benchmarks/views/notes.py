"""The notes under a table: what its columns mean, and the conditions it was measured under."""

import re
from collections.abc import Sequence

from benchmarks.rows import CUDA, OK, Row
from benchmarks.views.cells import QUICK, UNKNOWN, listed
from benchmarks.views.groups import REAL, Group
from benchmarks.views.names import peer_notes
from benchmarks.views.summary import batched_setting
from qa.bootstrap import LEVEL

GPU_PEAK = "peak: of the GPU's memory, what PyTorch's tensors took"
BUSY = 0.1  # cores kept busy by other processes from which on a table says so
BUSY_LOAD = 0.5  # load average a core when measuring began, above which a table says so


def table_notes(group: Group, view: str) -> list[str]:
    """All notes under the summary, the latency or the accuracy view of a group."""
    notes = _explanations(group, view) + (peer_notes(group.entries) if view != "latency" else [])
    if view != "accuracy":
        notes += quick_notes(shown_rows(group, view))
    return notes + _conditions(group, view) + failure_notes([entry.facts for entry in group.entries])


def failure_notes(rows: Sequence[Row]) -> list[str]:
    """A note about each model that could not be measured."""
    return [f"{row['model']} failed: {row['status']}" for row in rows if row["status"] != OK]


def quick_notes(rows: Sequence[Row]) -> list[str]:
    """What the mark at a time means, and which models have it in these rows."""
    timed = list(dict.fromkeys(row["model"] for row in rows if "n_runs" in row))
    quick = list(dict.fromkeys(row["model"] for row in rows if row.get("quick")))
    which = "all models" if len(quick) == len(timed) else listed(quick)
    return [f"{QUICK} quick: fewer than 1,024 windows or less than 60 s were timed: {which}"] if quick else []


def _explanations(group: Group, view: str) -> list[str]:
    """What the columns mean, with what each is relative to."""
    base = group.baseline.get("baseline")
    others = f"; {UNKNOWN} where compared with another model" if group.compared_with_others() else ""
    shown = shown_rows(group, view)
    timed = [row for row in shown if "latency_ms_p50" in row]
    intervals = _interval_note(group, view)
    notes = []
    if base is None:
        notes.append("no baseline, so neither F1 retained nor speed: name one with --baseline BUNDLE")
    elif view != "latency":
        notes.append(f"retained: F1 divided by that of {base}{others}")
    if view != "latency" and any("same_answers" in e.facts for e in group.entries):
        unknown = any("same_answers" in e.facts and group.same_as_parent(e) is None for e in group.entries)
        kept = f" ({UNKNOWN} where the parent's were not kept)" if unknown and view == "summary" else ""
        notes[-1] += f"; same: answers letter for letter those of the parent (of an export: the PyTorch model){kept}"
    if timed and view == "summary":
        lengths = [f"padded to {n}" if n != REAL else "as short as the runtime allows (real)" for n in group.lengths_shown]
        notes.append(f"ms: median of the runtime call for one window, 1 thread, {' or '.join(lengths)}")
    if timed and base is not None:
        means = "; by mean and by median times" if view == "latency" else " (mean times)"
        notes.append(f"x: times as fast as {base} {_padded(group, timed)} at 1 thread in the same run{means}{others}")
    if view == "summary":
        notes += _batch_note(group)
    if view == "accuracy" and any("null_threshold" in e.facts for e in group.entries):
        notes.append("own threshold: of no answer, tuned for this very file on held-out training articles")
    if view == "latency":
        peak = GPU_PEAK if group.target == CUDA else "peak: the whole process"
        notes.append(f"tokenize (one question), decode (one window) and load in ms are not part of the latency; {peak}")
    if view == "latency" and any("latency_ms_first" in row for row in shown):
        notes.append("first: the first inference of the process, which is not among those timed")
    return notes + ([intervals] if intervals else [])


def shown_rows(group: Group, view: str) -> list[Row]:
    """The rows that the times of a view are from: the accuracy has none, the summary one row a model and length."""
    if view == "latency":
        return timed_rows(group)
    lengths = group.lengths_shown if view == "summary" else []
    rows = [row for e in group.entries for row in map(e.at, lengths) if row]
    setting = batched_setting(group) if view == "summary" else None
    return rows + [e.batched[setting] for e in group.entries if setting in e.batched]


def _padded(group: Group, rows: Sequence[Row]) -> str:
    """To which length the baseline was padded in the runs of these rows."""
    lengths = sorted({n for row in rows if (n := group.speedup_of(row)) is not None})
    if len(lengths) < 2:
        return " to ".join(["padded", *map(str, lengths)])
    return f"padded to the greatest length of the run ({', '.join(map(str, lengths[:-1]))} or {lengths[-1]})"


def _interval_note(group: Group, view: str) -> str:
    """What the intervals are over."""
    over = []
    if view != "latency" and any("f1_low" in e.facts or "f1_retained_low" in e.facts for e in group.entries):
        over.append("of F1 and its ratio over questions" if view == "accuracy" else "of retained over questions")
    rounds = {len(row["round_ms"]) for row in shown_rows(group, view) if group.speedup_interval(row) is not None}
    if rounds:
        counts = f"{min(rounds)}" if len(rounds) == 1 else f"{min(rounds)} to {max(rounds)}"
        over.append(f"of x over {counts} rounds in which the models took turns")
    return f"intervals: {LEVEL:.0%}, bootstrap, paired with the baseline, {' and '.join(over)}" if over else ""


def _batch_note(group: Group) -> list[str]:
    setting = batched_setting(group)
    if setting is None:
        return []
    lengths, threads, batch = setting
    padded = "real lengths" if lengths == REAL else f"padded to {lengths}"
    return [f"win/s, {batch}: windows a second when {batch} are given at once, {padded}, threads: {threads}"]


def _conditions(group: Group, view: str) -> list[str]:
    """Machine, runtimes and dates, and whether the machine was busy with something else."""
    dates = sorted({row["date"][:10] for e in group.entries for row in (e.facts, *e.timed_rows())})
    runtimes = dict.fromkeys(e.facts["runtime"] for e in group.entries if "runtime" in e.facts)
    notes = [f"{group.machine}", f"{', '.join(runtimes)}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}"]
    if view == "accuracy":
        return notes
    settings = [f"{name}: {value}" for name, value in process_conditions(timed_rows(group))]
    return notes + (settings if view == "latency" else []) + busy_notes(timed_rows(group), group.machine)


def process_conditions(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Governor, cores and load average of the processes that were timed, each with all its values."""
    cores = dict.fromkeys((row["threads"], tuple(row["affinity"])) for row in rows if "affinity" in row)
    loads = sorted(row["load_average"] for row in rows if "load_average" in row)
    found = [
        ("governor", ", ".join(dict.fromkeys(row["governor"] for row in rows if "governor" in row))),
        ("pinned to cores", "; ".join(f"{', '.join(map(str, chosen))} (threads: {threads})" for threads, chosen in cores)),
        ("load average at the start", " to ".join(dict.fromkeys(f"{load:.2f}" for load in loads[:1] + loads[-1:]))),
    ]
    return [(name, value) for name, value in found if value]


def busy_notes(rows: Sequence[Row], machine: str) -> list[str]:
    """Notes about a machine that was not idle when these rows were timed."""
    notes = []
    busy, cores = busy_cores(rows), machine_cores(machine)
    load = max((row.get("load_average", 0.0) for row in rows), default=0.0)
    if busy >= BUSY:
        notes.append(f"other processes kept {busy:.1f} cores busy: idle, this machine is faster, above all with several threads")
    if cores and load > BUSY_LOAD * cores:
        notes.append(f"not idle when measuring began: load average {load:.1f} on {cores} core{'s' if cores > 1 else ''}")
    return notes


def machine_cores(machine: str) -> int | None:
    """The number of cores in the text of a row's machine; None where it does not say."""
    found = re.search(r"\b(\d+) cores?\b", machine)
    return int(found[1]) if found else None


def busy_cores(rows: Sequence[Row]) -> float:
    """How many cores others kept busy while these rows were timed; the worst of them."""
    return max((row.get("other_load", 0.0) for row in rows), default=0.0)


def timed_rows(group: Group) -> list[Row]:
    """The rows that the times shown are from."""
    return [row for e in group.entries for row in e.timed_rows()]
