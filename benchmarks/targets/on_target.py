"""Measure bundles on another target: answers and their distance from this machine's, then instructions or times.

The target only computes logits. Questions are cut into windows here, and answers decoded here, from the logits brought back.
"""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.accuracy import accuracy_columns
from benchmarks.command_line import note
from benchmarks.measure import Comparison
from benchmarks.rows import OK, Row, machine
from benchmarks.subjects import Subject
from benchmarks.targets.target import Outcome, Placed, Target
from benchmarks.timing.conditions import Host
from benchmarks.timing.journal import Journal
from benchmarks.timing.latency import PADDED, REAL, Plan, Setting
from benchmarks.timing.passes import Timing, measure_latency
from benchmarks.windows_file import write_windows
from qa.answers import decode
from qa.bundle import Bundle
from qa.errors import ProbeError
from qa.evaluate import predict, score
from qa.features import Window, make_windows
from qa.probe import PROBE_TOLERANCE, relative_difference
from qa.runtimes import Logits, load_runtime, run_windows
from qa.sampling import evenly
from qa.settings import QASettings
from qa.squad import Example

EMULATED_QUESTIONS = 20  # a window of a small fp32 student takes up to a minute under QEMU


def sample_examples(examples: Sequence[Example], n: int | None) -> list[Example]:
    """At most `n` examples evenly spaced over all of them, so over all articles; all when `n` is None."""
    return [examples[i] for i in evenly(len(examples), len(examples) if n is None else n)]


def measure_all(run: Comparison, target: Target, plan: Plan | None) -> None:
    """Append the rows of all subjects on a target: of each its answers, then with a plan the times of all, in turns.

    What fails is a row with its error. The same run goes on where it was stopped.
    """
    what = {
        "target": target.name, "questions": len(run.examples), "plan": plan and asdict(plan),
        "measured": [subject.sha256 for subject in run.subjects], "data": run.data_sha256,
    }  # fmt: skip
    journal = Journal(run.rows_path, what, run.subjects[0].facts["date"])
    with closing(journal), ExitStack() as places:  # where each model stays until all have been timed
        for subject in run.subjects:
            subject.facts |= {"target": target.name, "machine": target.name, "date": journal.date}  # machine: until it has told
            known = any(entry["bundle"] == subject.sha256 for entry in journal.entries) and _take_up(run, subject)
            if known:
                note(f"{subject.facts['model']}: was measured before this run was stopped")
                if plan is None or subject.error is not None:
                    continue
            try:
                placed = places.enter_context(target.place(subject.bundle.weights))
                subject.server = placed.server
                if known:
                    continue
                host = parity_and_accuracy(run, subject, target, placed)
            except Exception as error:  # runtimes raise their own types; the others go on without this bundle
                run.fail(subject, error)
                journal.add({"bundle": subject.sha256})
            else:
                run.append(subject)
                journal.add({"bundle": subject.sha256, "host": asdict(host)})
        hosts = [entry["host"] for entry in journal.entries if "host" in entry]
        if plan is not None and hosts:
            host = Host(**hosts[0])
            threads = sorted({1, len(host.cores)})
            measure_latency(Timing(run, (Setting(REAL), Setting(PADDED)), plan, threads, host))
        journal.remove()


def _take_up(run: Comparison, subject: Subject) -> bool:
    """Give a subject the facts of its row in the run that was stopped; whether the row is still there."""
    keys = ("bundle_sha256", "target", "date")
    same = (row for row in run.old_rows if all(row[key] == subject.facts[key] for key in keys) and "round_ms" not in row)
    row = next(same, None)
    if row is None:
        return False
    subject.facts |= row
    subject.error = None if row["status"] == OK else row["status"]
    return True


def parity_and_accuracy(run: Comparison, subject: Subject, target: Target, placed: Placed) -> Host:
    """Compute all questions there and here, and put accuracy, parity and, where counted, instructions into the subject's facts.

    Returns the target's conditions. ProbeError when it computes the bundle wrongly; the facts then have the machine at least.
    """
    facts, bundle = subject.facts, subject.bundle
    windows = make_windows(run.examples, bundle.tokenizer(), bundle.settings)
    note(f"{facts['model']}: {len(windows)} windows on {target.name}")
    reference = load_runtime(bundle, threads=1)  # it has passed the bundle's probe, so it can vouch for others
    here = run_windows(reference, windows)
    there = send(bundle, [(one.input_ids, one.context_begin) for one in windows], placed)
    facts |= {"machine": target.describe(there.facts), "runtime": there.facts["runtime"]}
    check_same_model(here, there.logits, bundle.precision, f"{facts['runtime']} on {target.name}")
    facts |= accuracy_columns(scores(run.examples, windows, there.logits, bundle.settings) | {"n_windows": len(windows)})
    facts |= {"reference": f"{reference.name} on {machine()}"}
    facts |= {"reference_f1": scores(run.examples, windows, here, bundle.settings)["f1"]}
    facts |= parity(windows, there.logits, here, bundle.settings)
    if there.instructions is not None:
        facts |= {"threads": 1, "batch": 1, "lengths": REAL}
        facts["instructions_per_window"] = round(float(there.instructions.mean()))
    note(
        f"{facts['model']}: F1 {facts['f1']:.2f} (here {facts['reference_f1']:.2f}), logits differ by "
        f"{facts['parity_max_abs']:.2g} at most, {facts['same_spans']:.1%} of spans the same"
    )
    load = there.facts.get("load_average") or [None]
    return Host(tuple(there.facts["usable_cores"]), there.facts.get("governor"), load[0], here=False)


def send(bundle: Bundle, windows: Sequence[tuple[np.ndarray, int]], placed: Placed) -> Outcome:
    """Run the runner on windows (input_ids (T,), context_begin)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "windows.npz"
        return placed.run(write_windows(path, windows, bundle.manifest["files"][bundle.weights.name]))


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
