"""Measure exports on a remote target: answers and their distance from this machine's, then instructions or
times.

The target only computes logits. Questions are cut into windows here, and answers decoded here. EM and F1 are
compared with those of the baseline of this machine's scores in the same file of results, on the same
questions, where its answers are kept.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.measure.accuracy import (
    Answers,
    answer_intervals,
    answers_path,
    exact_and_f1,
    has_answers_of,
    load_answers,
    save_answers,
    score_fields,
)
from benchmarks.measure.command_line import note
from benchmarks.measure.conditions import Host, this_host
from benchmarks.measure.hosts import Target, count_between_marks
from benchmarks.measure.latency import measure_latency
from benchmarks.measure.plan import Plan
from benchmarks.measure.products import least_per_window
from benchmarks.measure.run import ModelUnderTest, Run
from benchmarks.measure.worker_process import Worker
from benchmarks.results.rows import CPU, Accuracy, TargetAccuracy
from export.parity import best_span
from qa.base.errors import ProbeError
from qa.bundles.trained_on import train_overlap
from qa.data.squad import Example, articles_of
from qa.evaluation.bootstrap import MIN_QUESTIONS, score_interval
from qa.evaluation.predict import answer_texts, predict, score
from qa.formats.precision import PRECISIONS
from qa.formats.tensors import Logits
from qa.runtime.probe import relative_difference
from qa.runtime.runtimes import load_runtime, run_windows
from qa.text.features import Window
from qa.text.settings import QASettings

EMULATED_QUESTIONS = 20  # a window of a small fp32 student takes up to a minute under QEMU


def measure_remote(run: Run, target: Target, plan: Plan | None) -> None:
    """Append each model's answers on a target, unless the results have them; with a plan, then time all in
    turns.

    A failed model is a result of its own. A stopped run continues behind the last finished model, or the last
    round of times.
    """
    hosts = []
    with ExitStack() as deployments:  # each model stays there until all have been timed
        for model in run.models:
            try:
                model.deployment = deployments.enter_context(target.deploy(model.bundle))
                hosts.append(compare_with_reference(run, model, target))
            except Exception as error:  # runtimes raise types of their own; the others go on without it
                run.fail(model, error)
        if plan is not None and hosts:
            threads = tuple(sorted({1, hosts[0].n_cores}))
            measure_latency(run, replace(plan, threads=threads), hosts[0])


def compare_with_reference(run: Run, model: ModelUnderTest, target: Target) -> Host:
    """Append what the target computes of a bundle: scores, parity and, where counted, instructions.

    Returns the target's conditions. ProbeError when it computes the bundle wrongly.
    """
    bundle = model.bundle
    deployment = model.deployment
    settings = bundle.settings
    windows = run.windows(bundle, settings)
    with closing(Worker(deployment, 1 if target.emulated else 0, ())) as worker:
        host = Host(worker.loaded["system"], here=False)
        model.runtime = worker.runtime
        run.machine = target.describe(host.machine)
        known = run.known(TargetAccuracy, model, n=len(run.examples))
        if known is not None and has_answers_of(run, known):
            note(f"{model.name}: accuracy on {target.name} reused from the results")
            result = msgspec.structs.replace(known, model=model.name, **comparison(run, model))
            if result != known or not run.is_shown(model, known):  # the baseline was measured later
                run.file.append(msgspec.structs.replace(result, date=run.date, command=run.command))
            return host
        reference = load_runtime(bundle, threads=1)  # first: a missing runtime here would waste an hour there
        note(f"{model.name}: {len(windows)} windows on {target.name}")
        there = run_windows(worker, windows, progress=True)
    here = run_windows(reference, windows)
    check_same_model(here, there, bundle.precision, f"{model.runtime} on {target.name}")
    predictions, reference_predictions = (
        predict(run.examples, windows, logits, settings) for logits in (there, here)
    )
    threshold = settings.null_threshold
    scores, reference_scores = (
        score(run.examples, each, threshold) for each in (predictions, reference_predictions)
    )
    answers = answer_texts(run.examples, predictions, threshold)
    path = answers_path(run.file.path, model.sha256, run.data.sha256, run.target)
    save_answers(path, (load_answers(path) or {}) | answers)  # also those of a run with more questions
    fields: dict[str, Any] = {
        **score_fields(scores | {"n_windows": len(windows)}, threshold),
        **parity(windows, there, here, settings),
        **agreement(run.examples, answers, answer_texts(run.examples, reference_predictions, threshold)),
        **comparison(run, model),
        "reference": f"{reference.name} on {this_host().machine}",
        "reference_f1": reference_scores["f1"],
        "train_overlap": train_overlap(bundle.path, bundle.manifest, run.data.sha256, run.examples),
    }
    if deployment.marks is not None:
        marks = deployment.marks.read_text(encoding="ascii") if deployment.marks.is_file() else ""
        fields["instructions_per_window"] = round(float(count_between_marks(marks, len(windows)).mean()))
        least = least_per_window(bundle, windows, host.machine.features)
        fields["least_instructions_per_window"] = least
    result = TargetAccuracy(**run.common(model), **fields)
    run.file.append(result)
    note(
        f"{model.name}: F1 {result.f1:.2f} (here {result.reference_f1:.2f}), logits differ by at most "
        f"{result.parity_max_abs:.2g}, {result.same_spans:.1%} of spans the same"
    )
    return host


def check_same_model(
    reference: Sequence[Logits], logits: Sequence[Logits], precision: str, where: str
) -> None:
    """Compare logits of all windows together, ((T,), (T,)) each, by the probe's measure. ProbeError if they
    differ.

    An old runtime computes garbage without complaint.
    """
    expected = np.concatenate([side for pair in reference for side in pair])
    actual = np.concatenate([side for pair in logits for side in pair])
    difference = relative_difference(expected, actual)
    tolerance = PRECISIONS[precision].probe_tolerance
    if not difference <= tolerance:
        raise ProbeError(
            f"{where} computes this {precision} model wrongly: its logits differ from those computed here by "
            f"{difference:.3g} of their deviation, at most {tolerance:g} is allowed; "
            "install another version there"
        )


def parity(
    windows: Sequence[Window], logits: Sequence[Logits], reference: Sequence[Logits], settings: QASettings
) -> dict[str, float]:
    """Return parity_max_abs and same_spans of the logits of the same windows, ((T,), (T,)) each."""
    differences = []
    n_same = 0
    for window, actual, expected in zip(windows, logits, reference, strict=True):
        differences.append(float(np.abs(np.concatenate(actual) - np.concatenate(expected)).max()))
        n_same += best_span(window, actual, settings) == best_span(window, expected, settings)
    return {"parity_max_abs": max(differences), "same_spans": n_same / len(windows)}


def agreement(examples: Sequence[Example], answers: Answers, reference: Answers) -> dict[str, float]:
    """Return the share of answers that equal the reference's, with its interval over articles.

    A few questions have no interval.
    """
    same = np.array([answers[e.id] == reference[e.id] for e in examples], np.float64)
    if len(examples) < MIN_QUESTIONS:
        return {"same_answers": float(same.mean())}
    found, _ = score_interval(same, articles_of(examples))
    return {
        "same_answers": found.mean,
        "same_answers_low": round(found.low, 6),
        "same_answers_high": round(found.high, 6),
    }


def comparison(run: Run, model: ModelUnderTest) -> dict[str, Any]:
    """Return intervals of EM and F1, and what is retained of the baseline, where answers are kept.

    And whether the threshold was tuned on the questions.
    """
    fields: dict[str, Any] = {"tuned_on_data": model.bundle.is_tuned_on(run.data.sha256)}
    answers = all_answers(run, answers_path(run.file.path, model.sha256, run.data.sha256, run.target))
    if answers is None:
        return fields
    base, base_answers = baseline_here(run)
    fields |= answer_intervals(run.examples, answers, base_answers)
    if base is None or base_answers is None:
        note(f"nothing is retained: {run.file.path} has no baseline of this machine for these questions")
        return fields
    own, of_base = (exact_and_f1(run.examples, each).mean(axis=0) for each in (answers, base_answers))
    if of_base.all():
        fields |= dict(zip(("exact_retained", "f1_retained"), (own / of_base).tolist(), strict=True))
    return fields | {"baseline": base.model, "baseline_sha256": base.bundle_sha256}


def baseline_here(run: Run) -> tuple[Accuracy, Answers] | tuple[None, None]:
    """Return this machine's newest scores that are their own baseline, and answers to all these questions.

    They are of the same data file: in another, an id may be that of another question.
    """
    for scores in reversed(run.file.all):
        if not isinstance(scores, Accuracy) or scores.target != CPU or scores.data.sha256 != run.data.sha256:
            continue
        if scores.bundle_sha256 == scores.baseline_sha256:
            path = answers_path(run.file.path, scores.bundle_sha256, run.data.sha256)
            answers = all_answers(run, path)
            if answers is not None:
                return scores, answers
    return None, None


def all_answers(run: Run, path: Path) -> Answers | None:
    """Read kept answers; None where one of the questions has none."""
    answers = load_answers(path)
    return answers if answers is not None and all(e.id in answers for e in run.examples) else None
