"""The notes under a table: what its columns mean, and the conditions it was measured under."""

from collections.abc import Iterable, Sequence

from benchmarks.results.rows import BUSY, CUDA, UNPADDED, Failure, Latency, Machine, Timed
from benchmarks.results.stats import mean_of
from benchmarks.show.groups import Entry, Group
from benchmarks.show.tables import ANOTHER_RUN, QUICK, UNKNOWN, Line, listed, span, tool_of, words_of
from qa.evaluation.bootstrap import LEVEL, Interval

GPU_PEAK = "peak: GPU memory allocated for PyTorch's tensors"
BUSY_LOAD = 0.5  # load average a core when measuring began, above which a table says so


def table_notes(group: Group, view: str) -> list[str]:
    """All notes under a view of a group with a line a model, or one for each of its settings."""
    rows = shown_times(group, view)
    notes = [*_meaning(group, view, rows), *peer_notes(group.entries if view != "latency" else [])]
    notes += [*quick_notes(rows), *_runs(group, rows), *_conditions(group, view)]
    return notes + failure_notes(e.failure for e in group.entries if e.failure)


def shown_times(group: Group, view: str) -> list[Latency]:
    """The times that a view shows."""
    if view == "accuracy":
        return []
    if view == "latency":
        return all_times(group)
    lines = [Line(group, e) for e in group.entries]
    if view == "short":
        return [line.unpadded for line in lines if line.unpadded]
    return [
        row
        for line in lines
        for row in (line.padded, line.unpadded, line.batched if view == "summary" else None)
        if row
    ]


def all_times(group: Group) -> list[Latency]:
    """The newest times at every setting of all models."""
    return [row for e in group.entries for row in e.times()]


def failure_notes(failures: Iterable[Failure]) -> list[str]:
    """A note about each model that could not be measured."""
    return [f"{one.model} failed: {one.error}" for one in failures]


def quick_notes(rows: Sequence[Latency]) -> list[str]:
    """What the mark at a time means, and which models have it in these rows."""
    timed, quick = (list(dict.fromkeys(r.model for r in rows if r.quick or every)) for every in (True, False))
    which = "all models" if len(quick) == len(timed) else listed(quick)
    return [f"{QUICK} quick: fewer than 1,024 windows or less than 60 s were timed: {which}"] if quick else []


def peer_notes(entries: Sequence[Entry]) -> list[str]:
    """What peers are, with the versions of their tools."""
    tools: dict[str, dict[str, str]] = {}
    for entry in (e for e in entries if e.is_peer):
        tools.setdefault(tool_of(entry), {}).update(entry.newest.versions)
    named = []
    for tool, found in tools.items():
        versions = ", ".join(f"{package} {version}" for package, version in found.items())
        named.append(f"{tool} ({versions})" if versions else tool)
    return [f"peer: what another tool made of the same PyTorch model: {'; '.join(named)}"] if named else []


def _meaning(group: Group, view: str, rows: Sequence[Latency]) -> list[str]:
    """What the columns mean, with what each is relative to."""
    base = group.baseline.baseline if group.baseline is not None else None
    others = f"; {UNKNOWN} where compared with another model" if group.compared_with_others() else ""
    notes = []
    if base is None and view != "padding":
        notes.append("no baseline, so neither F1 retained nor speed-up: name one with --baseline BUNDLE")
    elif view in ("summary", "short", "accuracy"):
        notes.append(f"retained: F1 divided by that of {base}{others}")
    scores = [e.accuracy for e in group.entries if e.accuracy and e.accuracy.same_answers is not None]
    if scores and view in ("summary", "accuracy"):
        lost = view == "summary" and any(
            e.accuracy in scores and group.agreement(e) is None for e in group.entries
        )
        kept = f" ({UNKNOWN} where the parent's were not kept)" if lost else ""
        notes.append(
            f"agreement: share of answers identical to the parent's (for an export: the PyTorch "
            f"model's){kept}"
        )
    if rows and view in ("summary", "short", "padding"):
        where = " or ".join(words_of(n) for n in group.lengths_shown if view != "short" or n == UNPADDED)
        notes.append(f"ms: mean of the runtime call for one window, 1 thread, {where}")
    if rows and base is not None and view != "padding":
        notes.append(
            f"x: speed-up over {base} at the same lengths and threads in the same run, by mean times"
        )
    notes += _padding(group) if view in ("summary", "padding") else []
    if view == "summary" and group.batched is not None:
        lengths, threads, batch = group.batched
        notes.append(f"windows/s: {batch} windows given at once, {words_of(lengths)}, threads: {threads}")
    if view == "accuracy" and any(e.accuracy and e.accuracy.best_f1 is not None for e in group.entries):
        notes.append("tuned F1: with the threshold that is best for these very questions")
    if view == "accuracy" and any(
        e.accuracy and e.accuracy.null_threshold is not None for e in group.entries
    ):
        notes.append("own threshold: of no answer, tuned for this very file on held-out training articles")
    if view == "latency":
        peak = GPU_PEAK if group.target == CUDA else "peak: the whole process"
        notes.append(f"padded to: {UNKNOWN} for windows at their own lengths (unpadded)")
        notes.append(
            f"tokenize (one question), decode (one window) and load in ms are not part of the latency; {peak}"
        )
        if any(row.latency_ms_first for row in rows):
            notes.append("first: the first inference of the process, which is not among those timed")
    return notes + _intervals(group, view, rows)


def _padding(group: Group) -> list[str]:
    """The gain of windows at their own lengths: of the baseline, and from the least to the most of all."""
    gains = [gain for e in group.entries if (gain := group.padding_gain(e)) is not None]
    if not gains:
        return []
    base = group.padding_gain(group.baseline_entry) if group.baseline_entry is not None else None
    ends = f" ({span(base)})" if isinstance(base, Interval) else ""
    of_base = (
        f" {mean_of(base):.2f}x{ends} for {group.baseline_entry.model},"
        if base and group.baseline_entry
        else ""
    )
    ordered = sorted(mean_of(gain) or 0.0 for gain in gains)
    over_all = f"{ordered[0]:.2f}x to {ordered[-1]:.2f}x over all models, each with itself in one run"
    return [f"unpadded instead of padded to {group.longest}:{of_base} {over_all}"]


def _intervals(group: Group, view: str, rows: Sequence[Latency]) -> list[str]:
    """What the intervals are over."""
    over = []
    scores = (
        [e.accuracy for e in group.entries if e.accuracy and e.accuracy.f1_interval]
        if view != "latency"
        else []
    )
    if scores and view != "padding":
        what = "of F1 and its ratio" if view == "accuracy" else "of retained"
        over.append(
            f"{what} over {listed(list(dict.fromkeys(one.resampled or 'questions' for one in scores)))}"
        )
    n_rounds = sorted({len(row.round_ms) for row in rows if isinstance(group.speedup(row), Interval)})
    if n_rounds:
        counts = " to ".join(dict.fromkeys(map(str, n_rounds[:1] + n_rounds[-1:])))
        over.append(f"of x over {counts} rounds in which the models took turns")
    return (
        [f"intervals: {LEVEL:.0%}, bootstrap, paired with the baseline, {' and '.join(over)}"] if over else []
    )


def _runs(group: Group, rows: Sequence[Latency]) -> list[str]:
    """What the mark of another run means: how long the baseline took in it."""
    found = {
        f"{base.latency_ms_mean:.1f} ms {words_of(base.lengths)}": None
        for row in rows
        if (base := group.in_another_run(row)) is not None and base.latency_ms_mean is not None
    }
    model = group.baseline.baseline if group.baseline is not None else ""
    times = listed(list(found))
    return (
        [f"{ANOTHER_RUN} from another run than the times of {model} above; in that run {model} took {times}"]
        if found
        else []
    )


def _conditions(group: Group, view: str) -> list[str]:
    """Machine, runtimes and dates, and whether the machine was busy with something else."""
    times = all_times(group)
    dates = sorted({r.date[:10] for r in (*(e.newest for e in group.entries), *times)})
    runtimes = dict.fromkeys(str(e.newest.runtime) for e in group.entries if e.newest.runtime)
    notes = [group.machine, f"{', '.join(runtimes)}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}"]
    if view == "accuracy":
        return notes
    settings = [f"{name}: {value}" for name, value in process_conditions(times)]
    return notes + (settings if view == "latency" else []) + busy_notes(times, group.newest.machine)


def process_conditions(rows: Sequence[Timed]) -> list[tuple[str, str]]:
    """Governor, cores and load average of the processes that were timed, each with all its values."""
    cores = dict.fromkeys((row.threads, row.affinity) for row in rows if row.affinity)
    loads = sorted(row.load_average for row in rows if row.load_average is not None)
    found = [
        ("governor", ", ".join(dict.fromkeys(row.governor for row in rows if row.governor))),
        (
            "pinned to cores",
            "; ".join(f"{', '.join(map(str, chosen))} (threads: {threads})" for threads, chosen in cores),
        ),
        (
            "load average at the start",
            " to ".join(dict.fromkeys(f"{load:.2f}" for load in loads[:1] + loads[-1:])),
        ),
    ]
    return [(name, value) for name, value in found if value]


def busy_cores(rows: Sequence[Timed]) -> float:
    """How many cores others kept busy while these rows were timed; the worst of them."""
    return max((row.other_load or 0.0 for row in rows), default=0.0)


def busy_notes(rows: Sequence[Timed], machine: Machine) -> list[str]:
    """Notes about a machine that was not idle when these rows were timed."""
    notes = []
    busy = busy_cores(rows)
    # The last minute's load says little where accuracy was measured in it; what others did meanwhile is
    # better, if known.
    load = max((row.load_average or 0.0 for row in rows if row.other_load is None), default=0.0)
    if busy >= BUSY:
        shorter = "times on the idle machine would be shorter, above all with several threads"
        notes.append(f"other processes kept {busy:.1f} cores busy: {shorter}")
    if machine.cores and load > BUSY_LOAD * machine.cores:
        cores = f"{machine.cores} core{'s' if machine.cores > 1 else ''}"
        notes.append(f"not idle when measuring began: load average {load:.1f} on {cores}")
    return notes
