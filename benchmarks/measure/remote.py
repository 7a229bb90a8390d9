"""Measure exports on another target: answers and their distance from this machine's, then instructions or
times.

The target only computes logits. Questions are cut into windows here, and answers decoded here, from the
logits brought back.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Any

import numpy as np

from benchmarks.measure.accuracy import score_fields
from benchmarks.measure.command_line import note
from benchmarks.measure.conditions import Host, host_of, machine
from benchmarks.measure.hosts import Target, count_between_marks
from benchmarks.measure.latency import Timing, measure_latency
from benchmarks.measure.models import ModelUnderTest, Run
from benchmarks.measure.plan import Plan, Setting
from benchmarks.measure.process import Worker
from benchmarks.results.rows import PADDED, UNPADDED, Machine, TargetAccuracy, newest
from export.parity import best_span
from qa.base.errors import ProbeError
from qa.evaluation.predict import predict, score
from qa.formats.precision import PRECISIONS
from qa.formats.tensors import Logits
from qa.runtime.probe import relative_difference
from qa.runtime.runtimes import load_runtime, run_windows
from qa.text.features import Window, make_windows
from qa.text.settings import QASettings

EMULATED_QUESTIONS = 20  # a window of a small fp32 student takes up to a minute under QEMU


def measure_elsewhere(run: Run, target: Target, plan: Plan | None) -> None:
    """Append the results of all models on a target: of each its answers, unless the results have them, then
    with a plan the times of all, in turns.

    What fails is a failure of its own. The same run goes on where it was stopped.
    """
    hosts = []
    with ExitStack() as places:  # where each model stays until all have been timed
        for model in run.models:
            try:
                model.deployment = places.enter_context(target.deploy(model.bundle))
                hosts.append(compare_with_reference(run, model, target))
            except Exception as error:  # runtimes raise their own types; the others go on without this bundle
                run.fail(model, error)
        if plan is not None and hosts:
            threads = sorted({1, len(hosts[0].cores)})
            measure_latency(Timing(run, (Setting(UNPADDED), Setting(PADDED)), plan, threads, hosts[0]))


def compare_with_reference(run: Run, model: ModelUnderTest, target: Target) -> Host:
    """Append what the target computes of a bundle: scores, parity and, where counted, instructions.

    Returns the target's conditions. ProbeError when it computes the bundle wrongly.
    """
    bundle = model.bundle
    deployment = model.deployment
    windows = make_windows(run.examples, bundle.tokenizer, bundle.settings)
    with closing(Worker(deployment, 1 if target.emulated else 0, ())) as worker:
        host = host_of(worker.loaded["system"], here=False)
        model.runtime = worker.runtime
        run.machine = target.describe(worker.loaded["system"])
        same = {
            "bundle_sha256": model.sha256,
            "runtime": model.runtime,
            "target": run.target,
            "machine": run.machine,
        }
        if newest(run.file.old, TargetAccuracy, **same, data=run.data, n=len(run.examples)):
            note(f"{model.name}: accuracy on {target.name} reused from the rows")
            return host
        note(f"{model.name}: {len(windows)} windows on {target.name}")
        there = run_windows(worker, windows, progress=True)
    reference = load_runtime(
        bundle, threads=1
    )  # it has passed the bundle's probe, so it can vouch for others
    here = run_windows(reference, windows)
    check_same_model(here, there, bundle.precision, f"{model.runtime} on {target.name}")
    scored = scores(run, windows, there, bundle.settings) | {"n_windows": len(windows)}
    found = score_fields(scored, bundle.settings.null_threshold) | {
        "reference": f"{reference.name} on {machine()}"
    }
    found |= {
        "reference_f1": scores(run, windows, here, bundle.settings)["f1"],
        **parity(windows, there, here, bundle.settings),
    }
    if deployment.marks is not None:
        marks = deployment.marks.read_text(encoding="ascii") if deployment.marks.is_file() else ""
        found["instructions_per_window"] = round(float(count_between_marks(marks, len(windows)).mean()))
    result = TargetAccuracy(**run.common(model), **found)
    run.file.append(result)
    note(
        f"{model.name}: F1 {result.f1:.2f} (here {result.reference_f1:.2f}), logits differ by "
        f"{result.parity_max_abs:.2g} at "
        f"most, {result.same_spans:.1%} of spans the same"
    )
    return host


def unknown_machine(target: Target) -> Machine:
    """What stands for a target's machine until it has told of itself."""
    return Machine(target.name)


def check_same_model(
    reference: Sequence[Logits], logits: Sequence[Logits], precision: str, where: str
) -> None:
    """ProbeError when the logits of all windows together are further from the reference's than a runtime may
    be from PyTorch.

    Each is ((T,), (T,)) a window. As with the probe: an old runtime computes garbage without complaint.
    """
    expected, seen = (
        np.concatenate([side for pair in pairs for side in pair]) for pairs in (reference, logits)
    )
    difference = relative_difference(expected, seen)
    if not difference <= PRECISIONS[precision].probe_tolerance:
        raise ProbeError(
            f"{where} computes this {precision} model wrongly: its logits differ from those computed here "
            f"by {difference:.3g} of "
            f"their deviation, at most {PRECISIONS[precision].probe_tolerance:g} is allowed; install "
            "another version there"
        )


def scores(
    run: Run, windows: Sequence[Window], logits: Sequence[Logits], settings: QASettings
) -> dict[str, Any]:
    """The official scores of the answers decoded from these logits."""
    return score(run.examples, predict(run.examples, windows, logits, settings), settings.null_threshold)


def parity(
    windows: Sequence[Window], logits: Sequence[Logits], others: Sequence[Logits], settings: QASettings
) -> dict[str, float]:
    """parity_max_abs and same_spans of the logits of the same windows, each ((T,), (T,))."""
    pairs = [(np.concatenate(own), np.concatenate(other)) for own, other in zip(logits, others, strict=True)]
    same = sum(
        best_span(window, own, settings) == best_span(window, other, settings)
        for window, own, other in zip(windows, logits, others, strict=True)
    )
    return {
        "parity_max_abs": max(float(np.abs(a - b).max()) for a, b in pairs),
        "same_spans": same / len(windows),
    }
