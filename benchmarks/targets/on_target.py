"""Measure bundles on another target: answers and their distance from this machine's, then times or instructions.

The target only computes logits. Questions are cut into windows here, and answers decoded here, from the logits brought back.
"""

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import accuracy_columns
from benchmarks.command_line import note
from benchmarks.rows import OK, Row, append_row, machine, make_row
from benchmarks.subjects import Subject
from benchmarks.targets.target import Outcome, Run, Target, write_windows
from benchmarks.timing.latency import MIN_S, QUICK, REAL, Plan, percentiles, spread_windows
from qa.answers import decode
from qa.bundle import Bundle
from qa.cli import one_line
from qa.errors import ProbeError
from qa.evaluate import predict, score
from qa.features import Window, make_windows
from qa.probe import PROBE_TOLERANCE, relative_difference
from qa.runtimes import Logits, load_runtime, run_windows
from qa.settings import QASettings
from qa.squad import Example

EMULATED_QUESTIONS = 20  # a window of a small fp32 student takes up to a minute under QEMU


@dataclass
class Errand:
    """What is to be measured on one target, and the rows appended so far."""

    target: Target
    examples: Sequence[Example]
    plan: Plan | None
    """None measures no latency."""
    rows_path: Path
    rows: list[Row] = field(default_factory=list)

    def append(self, values: Row) -> None:
        """Append one row."""
        row = make_row(values)
        append_row(self.rows_path, row)
        self.rows.append(row)


def sample_examples(examples: Sequence[Example], n: int | None) -> list[Example]:
    """At most `n` examples evenly spaced over all of them, so over all articles; all when `n` is None."""
    n = len(examples) if n is None else min(n, len(examples))
    return [examples[int((i + 0.5) * len(examples) / n)] for i in range(n)]


def measure_on_target(errand: Errand, subject: Subject) -> None:
    """Append the rows of one bundle; what fails is a row with its error."""
    target = errand.target
    facts: Row = subject.facts | {"target": target.name, "machine": target.name}  # until the target has told its machine
    try:
        with target.place(subject.bundle.weights) as run:
            seen, mean_ms = parity_and_accuracy(errand, subject.bundle, run, facts)
            errand.append(facts | {"status": OK})
            for threads in sorted({1, seen["usable_cores"]}) if errand.plan is not None else ():
                measure_latency(errand, subject.bundle, run, facts, threads, mean_ms)
    except Exception as error:  # runtimes raise their own types; the others go on without this bundle
        note(f"{facts['model']}: failed on {target.name}, {one_line(error)}")
        errand.append(facts | {"status": one_line(error)})


def parity_and_accuracy(errand: Errand, bundle: Bundle, run: Run, facts: Row) -> tuple[Mapping[str, Any], float]:
    """Compute all questions there and here, and put accuracy, parity and, where counted, instructions into `facts`.

    Returns the target's facts, and the mean ms of a window with all its cores. ProbeError when it computes the bundle wrongly;
    `facts` then has the machine at least.
    """
    windows = make_windows(errand.examples, bundle.tokenizer(), bundle.settings)
    note(f"{facts['model']}: {len(windows)} windows on {errand.target.name}")
    reference = load_runtime(bundle, threads=1)  # it has passed the bundle's probe, so it can vouch for others
    here = run_windows(reference, windows)
    there = send(bundle, [(one.input_ids, one.context_begin) for one in windows], run, [])
    facts |= {"machine": errand.target.describe(there.facts), "runtime": there.facts["runtime"]}
    check_same_model(here, there.logits, bundle.precision, f"{facts['runtime']} on {errand.target.name}")
    facts |= accuracy_columns(scores(errand.examples, windows, there.logits, bundle.settings) | {"n_windows": len(windows)})
    facts |= {"reference": f"{reference.name} on {machine()}"}
    facts |= {"reference_f1": scores(errand.examples, windows, here, bundle.settings)["f1"]}
    facts |= parity(windows, there.logits, here, bundle.settings)
    if there.instructions is not None:
        facts |= {"threads": 1, "batch": 1, "lengths": REAL}
        facts["instructions_per_window"] = round(float(there.instructions.mean()))
    note(
        f"{facts['model']}: F1 {facts['f1']:.2f} (here {facts['reference_f1']:.2f}), logits differ by "
        f"{facts['parity_max_abs']:.2g} at most, {facts['same_spans']:.1%} of spans the same"
    )
    return there.facts, float(there.times_ms.mean())


def send(bundle: Bundle, windows: Sequence[tuple[np.ndarray, int]], run: Run, options: Sequence[str]) -> Outcome:
    """Run the runner on windows (input_ids (T,), context_begin)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "windows.npz"
        return run(write_windows(path, windows, bundle.manifest["files"][bundle.weights.name]), options)


def check_same_model(reference: Sequence[Logits], logits: Sequence[Logits], precision: str, where: str) -> None:
    """ProbeError when the logits of all windows together are further from the reference's than a runtime may be from PyTorch.

    Each is ((T,), (T,)) a window. As with the probe: an old runtime computes garbage without complaint.
    """
    expected, seen = (np.concatenate([side for pair in pairs for side in pair]) for pairs in (reference, logits))
    difference = relative_difference(expected, seen)
    if not difference <= PROBE_TOLERANCE[precision]:
        raise ProbeError(
            f"{where} computes this {precision} model wrongly: its logits differ from those computed here by {difference:.3g} of "
            f"their deviation, at most {PROBE_TOLERANCE[precision]:g} is allowed; install another version there"
        )


def scores(examples: Sequence[Example], windows: Sequence[Window], logits: Sequence[Logits], settings: QASettings) -> Row:
    """The official scores of the answers decoded from these logits."""
    return score(examples, predict(examples, windows, logits, settings), settings.null_threshold)


def parity(windows: Sequence[Window], logits: Sequence[Logits], others: Sequence[Logits], settings: QASettings) -> Row:
    """parity_max_abs and same_spans of the logits of the same windows, each ((T,), (T,))."""
    pairs = [(np.concatenate(own), np.concatenate(other)) for own, other in zip(logits, others, strict=True)]
    same = sum(
        _best_span(window, own, settings) == _best_span(window, other, settings)
        for window, own, other in zip(windows, logits, others, strict=True)
    )
    return {"parity_max_abs": max(float(np.abs(a - b).max()) for a, b in pairs), "same_spans": same / len(windows)}


def _best_span(window: Window, logits: Logits, settings: QASettings) -> tuple[int, int] | None:
    best = decode([window], [logits], settings).best(None)
    return (best.start, best.end) if best else None


def measure_latency(errand: Errand, bundle: Bundle, run: Run, facts: Row, threads: int, expected_ms: float) -> None:
    """Time sampled windows with `threads` threads of the target, padded and at real lengths; a row for each.

    A window's first call is not timed, and the windows come in a shuffled order. `expected_ms` is about what a window takes: it
    decides how often each is timed.
    """
    plan = errand.plan or QUICK
    n = plan.n_rounds * plan.n_windows
    windows = spread_windows(make_windows(errand.examples, bundle.tokenizer(), bundle.settings), n)
    sent = [(windows[i].input_ids, windows[i].context_begin) for i in np.random.default_rng(0).permutation(n)]
    timed_calls = max(1, math.ceil(1e3 * plan.n_rounds * plan.min_s / (n * expected_ms)))
    for lengths in (bundle.settings.max_length, REAL):
        options = ["--threads", str(threads), "--repeats", str(1 + timed_calls)]
        outcome = send(bundle, sent, run, [*options, *([] if lengths == REAL else ["--pad-to", str(lengths)])])
        seen, times = outcome.facts, outcome.times_ms[:, 1:]
        row = facts | {"threads": threads, "batch": 1, "lengths": lengths, "n_runs": times.size, "status": OK}
        row |= percentiles(list(times.ravel())) | {"n_warmup": seen["n_warmup"] + n}
        row["timed_s"] = round(float(times.sum()) / 1e3, 1)
        row |= {"quick": plan.quick or row["timed_s"] < MIN_S or None}
        row |= {"governor": seen.get("governor"), "load_average": (seen.get("load_average") or [None])[0]}
        if threads == 1 and lengths != REAL:  # memory once windows of full length were computed
            row |= {key: seen.get(key) for key in ("load_ms", "peak_memory_mb")}
        errand.append(row)
        note(f"{facts['model']}: {row['latency_ms_p50']:.1f} ms, lengths {lengths}, threads {threads}")
