"""Footnotes of a table: the meaning of its columns, and the conditions of the measurement."""

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.results.rows import BUSY, CUDA, HERE, QEMU, SSH, Accuracy, Failure, Latency, Machine, Result
from benchmarks.show.columns import ANOTHER_RUN, EVERYDAY_F1, OVERLAP, QUICK, TUNED, tool_of, words_of
from benchmarks.show.groups import Entry, Group
from benchmarks.show.tables import UNKNOWN, first_to_last, listed, plural
from qa.bundles.overlap import is_notable
from qa.evaluation.bootstrap import LEVEL, Interval

# Explanations of columns of scores, by the field that has them.
SCORES = {
    "best_f1": "oracle F1, oracle threshold: with the no-answer threshold that is best for these questions",
    "null_threshold": "no-answer threshold: the one that decided these answers",
    "calibration_error": "ECE: expected calibration error of the probabilities in percentage points",
    "uncalibrated_calibration_error": "ECE before: expected calibration error of the softmax scores",
}
BRIEF = "brief"  # view with few footnotes
ONE_LENGTH = (BRIEF, "card")  # views with the shortest times only
BUSY_LOAD = 0.5  # load average per core at the start, above which a footnote mentions it
SAME_WINDOWS = 0.01  # share of windows that two tokenizers may cut more or fewer of the same questions


def table_footnotes(group: Group, view: str) -> list[str]:
    """Return all footnotes of a view with a line for each model or setting of a group."""
    rows = shown_times(group, view)
    meaning = [*_scores(group, view), *_times(group, view, rows), *_intervals(group, view, rows)]
    conditions = [*_conditions(group, view)]
    if view == BRIEF:
        meaning, conditions = ["; ".join(meaning)], ["; ".join(conditions)]
    return [
        *meaning,
        *caution_footnotes(group.scores),
        *toolchain_footnotes(group.entries if view != "latency" else []),
        *quick_footnotes(rows),
        *_another_run(group, rows),
        *conditions,
        *failure_footnotes(e.failure for e in group.entries),
    ]


def shown_times(group: Group, view: str) -> list[Latency]:
    """Return the times that a view shows."""
    if view == "latency":
        return group.times
    names = {"accuracy": ()} | dict.fromkeys(ONE_LENGTH, ("shortest",))
    shown = names.get(view, ("padded", "unpadded"))
    return [row for e in group.entries for name in shown if (row := getattr(e, name))]


def failure_footnotes(results: Iterable[Result | None]) -> Iterator[str]:
    """Say of the failures among results why the model could not be measured, and at which setting."""
    for failure in (r for r in results if isinstance(r, Failure)):
        where = f" on {failure.target}" if failure.target.startswith((SSH, QEMU)) else ""
        setting = f" (threads {failure.threads})" if failure.threads is not None else ""
        yield f"{failure.model}{where}{setting} failed: {failure.error}"


def caution_footnotes(scores: Iterable[Result | None]) -> Iterator[str]:
    """Explain the marks of models that were trained or tuned on what they are scored on, and name these."""
    known = [r for r in scores if isinstance(r, Accuracy)]
    shares = {r.model: r.train_overlap for r in known if r.train_overlap}
    if shares:
        models = listed([f"{model} {share:.2%}" for model, share in shares.items()])
        so = "; its scores say nothing about new texts" if any(map(is_notable, shares.values())) else ""
        share = f"share of questions about passages that the model was trained on: {models}"
        yield f"{OVERLAP} train-test overlap, {share}{so}"
    if tuned := list(dict.fromkeys(r.model for r in known if r.tuned_on_data)):
        models = listed(tuned)
        yield f"{TUNED} the threshold was tuned on these questions, so scores are too high: {models}"


def quick_footnotes(rows: Sequence[Latency]) -> Iterator[str]:
    """Explain the mark of a quick timing, and name the models that have it."""
    quick = list(dict.fromkeys(r.model for r in rows if r.quick))
    if quick:
        models = "all models" if len(quick) == len({r.model for r in rows}) else listed(quick)
        yield f"{QUICK} quick: fewer than 1,024 windows or less than 60 s were timed: {models}"


def toolchain_footnotes(entries: Sequence[Entry]) -> Iterator[str]:
    """Name the toolchains with their versions."""
    tools: dict[str, dict[str, str]] = {}
    for entry in (e for e in entries if e.is_toolchain):
        tools.setdefault(tool_of(entry), {}).update(entry.newest.versions)
    names = []
    for tool, versions in sorted(tools.items()):
        packages = ", ".join(f"{package} {version}" for package, version in versions.items())
        names.append(f"{tool} ({packages})" if packages else tool)
    if names:
        yield f"toolchain: another tool exported the same PyTorch model: {'; '.join(names)}"


def _scores(group: Group, view: str) -> Iterator[str]:
    """Explain the columns of scores."""
    if group.baseline is None:
        if group.scores:
            how = "name one with compare.py --baseline BUNDLE"
            if group.target not in HERE:
                how = "compare the baseline on this machine first, with the same --rows"
            yield f"no baseline, so neither scores retained nor speed-up; {how}"
    elif view in ("summary", "accuracy", *ONE_LENGTH):
        others = f"; {UNKNOWN} where compared with another model" if group.compared_with_others else ""
        retained = f"retained: EM or F1 divided by that of {group.baseline_name}{others}"
        unknown = f"nothing is retained: {group.baseline_name} was not scored, or its F1 is 0"
        yield retained if any(e.retained is not None for e in group.entries) else unknown
    everyday = [r for e in group.entries if view == BRIEF and (r := e.on_everyday_text)]
    if everyday:
        yield f"{EVERYDAY_F1}: on {everyday[0].data.name}, {plural(everyday[0].n, 'question')}"
    scores = group.scores
    if scores and all(a.HasAns_total is None and a.null_threshold is None for a in scores):
        yield "every question has an answer here, so every model answers always"
    compared = [e for e in group.entries if e.same_answers is not None]
    if compared and view in ("summary", "accuracy"):
        than = "the parent's (for an export: the PyTorch model's)"
        if view == "accuracy":
            than += " or, if not measured, the baseline's"
        elif any(e.agreement is None for e in compared):
            than += f" ({UNKNOWN} where the parent's were not kept)"
        yield f"agreement: share of answers identical to {than}"
    if view == "accuracy":
        if compared:
            yield "with: the model that the answers were compared with"
        yield from (text for key, text in SCORES.items() if any(getattr(a, key) is not None for a in scores))


def _times(group: Group, view: str, rows: Sequence[Latency]) -> Iterator[str]:
    """Explain the columns of times."""
    if rows and view in ("summary", *ONE_LENGTH):
        lengths = group.shown_lengths[-1 if view in ONE_LENGTH else 0 :]
        settings = " or ".join(map(words_of, lengths))
        yield f"ms: mean of the runtime call for one window, 1 thread, {settings}"
    if group.times and not rows and view in ("summary", *ONE_LENGTH):
        yield "times: of other threads or batches than one thread and one window; --details prints them"
    if any(group.speedup(row) is not None for row in rows):
        same = "at the same lengths and threads in the same run, by mean times"
        yield f"x: speed-up over {group.baseline_name} {same}"
        yield from _other_windows(group)
    if view == "latency":
        on_gpu = group.target == CUDA
        of_windows = all(row.peak_of_windows for row in rows if row.peak_memory_mb is not None)
        of_process = "of the process, of these windows" if of_windows else "of the whole process"
        peak = "GPU memory allocated for PyTorch's tensors" if on_gpu else of_process
        yield f"padded to: {UNKNOWN} for unpadded windows"
        yield "tokenize, decode: ms for one question, ms for one window; neither is part of the latency"
        yield f"load ms, peak MB: not part of the latency; {peak}"
        if any(row.latency_ms_first for row in rows):
            yield "first ms: the first inference of the process, of a short window; not among those timed"


def _other_windows(group: Group) -> Iterator[str]:
    """Name the models that cut the same questions into notably more or fewer windows than the baseline."""
    base = group.baseline_entry.accuracy if group.baseline_entry is not None else None
    if base is None or not base.n_windows:
        return
    counted = {a.model: a.n_windows for a in group.scores if a.n == base.n and a.n_windows}
    others = [
        f"{n:,} of {model}" for model, n in counted.items() if abs(n / base.n_windows - 1) > SAME_WINDOWS
    ]
    if others:
        yield f"x is of a window, not of a question, beside {base.n_windows:,} windows: {listed(others)}"


def _intervals(group: Group, view: str, rows: Sequence[Latency]) -> Iterator[str]:
    """State what the intervals are resampled over."""
    over = []
    scores = [a for a in group.scores if isinstance(a.f1_with_interval, Interval)]
    of_retained = any(isinstance(entry.retained, Interval) for entry in group.entries)
    columns = ["of scores"] * (view in ("accuracy", "card")) + ["of what is retained"] * of_retained
    if scores and columns and view != "latency":
        resampled = dict.fromkeys(accuracy.resampled or "questions" for accuracy in scores)
        over.append(f"{' and '.join(columns)} by bootstrap over {listed(list(resampled))}")
    n_rounds = sorted({len(row.round_ms) for row in rows if isinstance(group.speedup(row), Interval)})
    if n_rounds and view != BRIEF:
        rounds = f"{first_to_last([*map(str, n_rounds)])} rounds in which the models took turns"
        over.append(f"of x by Student's t over {rounds}")
    if over:
        is_paired = of_retained or over[-1].startswith("of x")
        paired = ", paired with the baseline" if is_paired else ""
        yield f"intervals: {LEVEL:.0%}{paired}, {' and '.join(over)}"


def _another_run(group: Group, rows: Sequence[Latency]) -> Iterator[str]:
    """Explain the mark of another run, with the baseline's times in that run."""
    bases = [base for row in rows if (base := group.in_another_run(row)) and base.latency_ms_mean]
    times = list(dict.fromkeys(f"{b.latency_ms_mean:.1f} ms {words_of(b.lengths)}" for b in bases))
    if times:
        model = group.baseline_name
        took = f"in that run {model} took {listed(times)}"
        yield f"{ANOTHER_RUN} from another run than the times of {model} above; {took}"


def _conditions(group: Group, view: str) -> Iterator[str]:
    """State machine, runtimes and dates, and whether other processes kept the machine busy."""
    times = group.times
    dates = sorted(r.date[:10] for r in (*(e.newest for e in group.entries), *times))
    runtimes = dict.fromkeys(str(e.newest.runtime) for e in group.entries if e.newest.runtime)
    yield f"machine: {group.machine}"
    yield f"runtimes: {', '.join(runtimes)}; {first_to_last(dates)}"
    if view == "latency":
        yield from (f"{name}: {value}" for name, value in process_conditions(times))
    if view != "accuracy":
        yield from busy_footnotes(times, group.newest.machine)


def process_conditions(rows: Sequence[Latency]) -> list[tuple[str, str]]:
    """Return governor, cores and load average of the timed processes, each with all its values."""
    governors = dict.fromkeys(row.governor for row in rows if row.governor)
    pinned = dict.fromkeys((row.threads, row.affinity) for row in rows if row.affinity)
    cores = [f"{', '.join(map(str, affinity))} (threads: {threads})" for threads, affinity in pinned]
    loads = [f"{load:.2f}" for load in sorted(r.load_average for r in rows if r.load_average is not None)]
    conditions = [
        ("governor", ", ".join(governors)),
        ("pinned to cores", "; ".join(cores)),
        ("load average at the start", first_to_last(loads) if loads else ""),
    ]
    return [(name, value) for name, value in conditions if value]


def busy_footnotes(rows: Sequence[Latency], machine: Machine) -> Iterator[str]:
    """Warn about a machine that was busy with other processes."""
    busy = max((row.other_load or 0.0 for row in rows), default=0.0)
    # The load of the minute before includes our own accuracy measurement, so the load of others is better.
    load = max((row.load_average or 0.0 for row in rows if row.other_load is None), default=0.0)
    if busy >= BUSY:
        shorter = "times on an idle machine would be shorter, above all with several threads"
        yield f"other processes kept {busy:.1f} cores busy: {shorter}"
    if machine.cores and load > BUSY_LOAD * machine.cores:
        cores = plural(machine.cores, "core")
        yield f"not idle when measuring began: load average {load:.1f} on {cores}"
