"""Measure exports on another target: answers and their distance from this machine's, then instructions or times.

The target only computes logits. Questions are cut into windows here, and answers decoded here, from the logits brought back.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.accuracy import score_fields
from benchmarks.command_line import note
from benchmarks.latency.conditions import Host, machine
from benchmarks.latency.hosts import QemuDeployment, Target
from benchmarks.latency.measure import Timing, measure_latency
from benchmarks.latency.plan import Plan, Setting
from benchmarks.latency.process import Deployment, Worker
from benchmarks.models import ModelUnderTest, Run
from benchmarks.results import PADDED, UNPADDED, Failure, Machine, TargetAccuracy
from export.parity import best_span
from qa.errors import ProbeError
from qa.evaluate import predict, score
from qa.features import Window, make_windows
from qa.journal import Journal
from qa.precision import PRECISIONS
from qa.probe import relative_difference
from qa.runtimes import Logits, load_runtime, run_windows
from qa.settings import QASettings

EMULATED_QUESTIONS = 20  # a window of a small fp32 student takes up to a minute under QEMU


def measure_elsewhere(run: Run, target: Target, plan: Plan | None) -> None:
    """Append the results of all models on a target: of each its answers, then with a plan the times of all, in turns.

    What fails is a failure of its own. The same run goes on where it was stopped.
    """
    what = {
        "target": target.name, "questions": len(run.examples), "plan": plan and asdict(plan),
        "measured": [model.sha256 for model in run.models], "data": run.data.sha256,
    }  # fmt: skip
    journal = Journal(run.file.path, what, run.date)
    run.date = journal.date
    with closing(journal), ExitStack() as places:  # where each model stays until all have been timed
        for model in run.models:
            known = any(entry["bundle"] == model.sha256 for entry in journal.entries) and _take_up(run, model)
            if known:
                note(f"{model.name}: was measured before this run was stopped")
                if plan is None or model.error is not None:
                    continue
            try:
                model.deployment = places.enter_context(target.deploy(model.bundle))
                if known:
                    continue
                host = compare_with_reference(run, model, target, model.deployment)
            except Exception as error:  # runtimes raise their own types; the others go on without this bundle
                run.fail(model, error)
                journal.add({"bundle": model.sha256})
            else:
                journal.add({"bundle": model.sha256, "host": asdict(host)})
        hosts = [entry["host"] for entry in journal.entries if "host" in entry]
        if plan is not None and hosts:
            host = Host(**hosts[0])
            threads = sorted({1, len(host.cores)})
            measure_latency(Timing(run, (Setting(UNPADDED), Setting(PADDED)), plan, threads, host))
        journal.remove()


def _take_up(run: Run, model: ModelUnderTest) -> bool:
    """Give a model what its result in the run that was stopped says; whether the result is still there."""
    wanted = (model.sha256, run.target, run.date)
    for result in run.file.old:
        if isinstance(result, TargetAccuracy | Failure) and (result.bundle_sha256, result.target, result.date) == wanted:
            model.runtime, run.machine = result.runtime, result.machine
            model.error = result.error if isinstance(result, Failure) else None
            return True
    return False


def compare_with_reference(run: Run, model: ModelUnderTest, target: Target, deployment: Deployment) -> Host:
    """Compute all questions there and here, and append accuracy, parity and, where counted, instructions.

    Returns the target's conditions. ProbeError when it computes the bundle wrongly.
    """
    bundle = model.bundle
    windows = make_windows(run.examples, bundle.tokenizer(), bundle.settings)
    note(f"{model.name}: {len(windows)} windows on {target.name}")
    reference = load_runtime(bundle, threads=1)  # it has passed the bundle's probe, so it can vouch for others
    here = run_windows(reference, windows)
    worker = Worker(deployment, 1 if target.emulated else 0, ())
    try:
        there, facts = run_windows(worker, windows, progress=True), worker.facts["machine"]
    finally:
        worker.close()
    model.runtime, run.machine = worker.runtime, target.describe(facts)
    check_same_model(here, there, bundle.precision, f"{model.runtime} on {target.name}")
    found: dict[str, Any] = score_fields(scores(run, windows, there, bundle.settings) | {"n_windows": len(windows)})
    found |= {"reference": f"{reference.name} on {machine()}", "null_threshold": bundle.settings.null_threshold}
    found |= {"reference_f1": scores(run, windows, here, bundle.settings)["f1"], **parity(windows, there, here, bundle.settings)}
    if isinstance(deployment, QemuDeployment):
        found["instructions_per_window"] = round(float(deployment.instructions(len(windows)).mean()))
    result = TargetAccuracy(**run.common(model), **found)
    run.file.append(result)
    note(
        f"{model.name}: F1 {result.f1:.2f} (here {result.reference_f1:.2f}), logits differ by {result.parity_max_abs:.2g} at "
        f"most, {result.same_spans:.1%} of spans the same"
    )
    return Host(tuple(facts["usable_cores"]), facts.get("governor"), facts.get("load_average"), here=False)


def unknown_machine(target: Target) -> Machine:
    """What stands for a target's machine until it has told of itself."""
    return Machine(target.name)


def check_same_model(reference: Sequence[Logits], logits: Sequence[Logits], precision: str, where: str) -> None:
    """ProbeError when the logits of all windows together are further from the reference's than a runtime may be from PyTorch.

    Each is ((T,), (T,)) a window. As with the probe: an old runtime computes garbage without complaint.
    """
    expected, seen = (np.concatenate([side for pair in pairs for side in pair]) for pairs in (reference, logits))
    difference = relative_difference(expected, seen)
    if not difference <= PRECISIONS[precision].probe_tolerance:
        raise ProbeError(
            f"{where} computes this {precision} model wrongly: its logits differ from those computed here by {difference:.3g} of "
            f"their deviation, at most {PRECISIONS[precision].probe_tolerance:g} is allowed; install another version there"
        )


def scores(run: Run, windows: Sequence[Window], logits: Sequence[Logits], settings: QASettings) -> dict[str, Any]:
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
    return {"parity_max_abs": max(float(np.abs(a - b).max()) for a, b in pairs), "same_spans": same / len(windows)}
