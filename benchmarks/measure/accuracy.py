"""Accuracy of a model on one data set, measured once and then reused from the results; and its answers.

Answers are kept beside the results, so that an export can be compared with its PyTorch parent question by
question, also across runs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.measure.command_line import note
from benchmarks.measure.conditions import this_host
from benchmarks.measure.run import ModelUnderTest, Run
from benchmarks.measure.worker_process import Worker
from benchmarks.results.rows import CPU, SHARED, Accuracy, Result, Runtime, Scores
from qa.base.errors import BusyError, SquadFormatError
from qa.base.files import write_whole
from qa.base.journal import Journal
from qa.bundles.bundle import Bundle
from qa.bundles.overlap import TUNED_LINE, overlap_line
from qa.bundles.trained_on import train_overlap
from qa.data.metrics import evaluate_predictions, scores_by_question
from qa.data.squad import Example, articles_of, read_predictions
from qa.evaluation.bootstrap import MIN_QUESTIONS, score_intervals
from qa.evaluation.calibration import calibration_scores
from qa.evaluation.predict import JOURNAL_ROW, answer_texts, evaluate_runtime
from qa.evaluation.threshold import tune_for_bundle
from qa.runtime.runtimes import Runtime as LoadedRuntime
from qa.runtime.runtimes import available_cores, load_runtime
from qa.text.preselection import MOST_WINDOWS

Answers = dict[str, str]
SAME_F1 = 1e-6  # points by which a sum of the same scores in another order may differ
SCORES = set(Scores.__struct_fields__) - set(Result.__struct_fields__)


def measure_accuracy(run: Run, model: ModelUnderTest) -> None:
    """Measure one model, or reuse its scores from the results; append a result when anything is new."""
    try:
        known, scores, answers, journal = _known_or_computed(run, model)
    except BusyError:
        raise
    except Exception as error:  # runtimes raise types of their own; the comparison goes on without this model
        run.fail(model, error)
        return
    if known is None:
        save_answers(_answers_path(run, model.sha256), answers)
    reused = "" if known is None else " (reused from the results)"
    note(f"{model.name}: F1 {scores['f1']:.2f}, EM {scores['exact']:.2f}{reused}")
    model.accuracy = Accuracy(**run.common(model), **scores)
    for key, value in relations(run, model).items():
        setattr(model.accuracy, key, value)
    # What toolchains and other precisions made of a bundle was trained on the same.
    if (line := overlap_line(model.accuracy.train_overlap)) and model.sha256 == model.bundle.sha256:
        note(f"{model.name}: {line}")
    if model.accuracy.tuned_on_data:
        note(f"{model.name}: {TUNED_LINE}")
    answers_always = model.bundle.settings.null_threshold is None and not all(e.answers for e in run.examples)
    if answers_always and not model.metadata.get("toolchain"):
        note(
            f"{model.name}: has no no-answer threshold, so each question without an answer counts as wrong; "
            "tune one with export.tune, or import the checkpoint with --null-threshold 0"
        )
    if known is None or not run.is_shown(model, known) or _relations_differ(model.accuracy, known):
        run.file.append(model.accuracy)
    if journal is not None:
        journal.remove()
        journal.close()


def _known_or_computed(
    run: Run, model: ModelUnderTest
) -> tuple[Accuracy | None, dict[str, Any], Answers, Journal | None]:
    """Return the known result with its scores, or None with new scores and answers and their journal.

    The caller removes and closes it.
    """
    # Some toolchains take minutes to load. The hash covers their versions, so the runtime need not be asked.
    known = _known(run, model) if model.metadata.get("toolchain") else None
    if known is None:
        with open_runtime(model) as (runtime, name):
            model.runtime = name
            known = _known(run, model)
            if known is None:
                note(f"{model.name}: {name}, {len(run.examples)} questions")
                bundle = _scored_bundle(model, runtime)
                journal = Journal(run.file.path, _identity(run, model), run.date)
                try:
                    return None, *evaluate(runtime, bundle, run.examples, journal), journal
                except BaseException:
                    journal.close()
                    raise
    model.runtime = known.runtime
    return known, {key: getattr(known, key) for key in SCORES}, {}, None


def _identity(run: Run, model: ModelUnderTest) -> dict[str, Any]:
    """Return all that answers depend on: a stopped run continues with its own only."""
    return {
        "scored": model.sha256,
        "model": model.name,
        "runtime": str(model.runtime),
        "target": run.target,
        "machine": str(run.machine),
        "data": run.data.sha256,
        "most_windows": MOST_WINDOWS,
        "row": JOURNAL_ROW,
    }


def _known(run: Run, model: ModelUnderTest) -> Accuracy | None:
    """Return the known scores; None where the answers kept, which intervals need, are gone or have others."""
    known = run.known(Accuracy, model)
    return known if known is not None and has_answers_of(run, known) else None


def has_answers_of(run: Run, known: Scores) -> bool:
    """Return whether the answers kept are those of a known result.

    Another runtime or machine may have answered since, into the same file.
    """
    answers = _answers(run, known.bundle_sha256)
    if answers is None:
        return False
    return bool(abs(exact_and_f1(run.examples, answers)[:, 1].mean() - known.f1) <= SAME_F1)


def _relations_differ(now: Accuracy, then: Accuracy) -> bool:
    """Return whether anything but date and command differs.

    Where the parent's answers are not kept any more, their agreement is carried over.
    """
    is_of_parent = then.same_answers_as != then.baseline or then.parent_sha256 == then.baseline_sha256
    if now.same_answers is None and is_of_parent:
        now.same_answers = then.same_answers
        now.same_answers_as = then.same_answers_as
    return now != msgspec.structs.replace(then, date=now.date, command=now.command)


@contextmanager
def open_runtime(model: ModelUnderTest) -> Iterator[tuple[LoadedRuntime, Runtime]]:
    """Load a model on all cores: a bundle in this process, a toolchain's or a GPU's in a worker."""
    if model.in_process:
        runtime = load_runtime(model.bundle)
        yield runtime, Runtime(runtime.package, runtime.version)
        return
    threads = available_cores()
    with closing(Worker(model.deployment, threads, this_host().cores_for(threads))) as worker:
        yield worker, worker.runtime


def _scored_bundle(model: ModelUnderTest, runtime: LoadedRuntime) -> Bundle:
    """Return the bundle whose settings decode the answers; what a toolchain made of it gets a no-answer
    threshold of its own.
    """
    bundle = model.bundle
    if model.in_process or bundle.settings.null_threshold is None:
        return bundle
    tuned, _ = tune_for_bundle(runtime, bundle)
    return replace(bundle, settings=tuned)


def evaluate(
    runtime: LoadedRuntime, bundle: Bundle, examples: Sequence[Example], journal: Journal | None = None
) -> tuple[dict[str, Any], Answers]:
    """Run the bundle over all examples: (fields of an Accuracy, answer text by question id).

    What the `journal` has is not computed again.
    """
    scores, predictions = evaluate_runtime(runtime, bundle, examples, journal)
    scores |= calibration_scores(examples, predictions, bundle.settings)
    threshold = bundle.settings.null_threshold
    answers = answer_texts(examples, predictions, threshold)
    by_category = category_scores(examples, answers)
    return score_fields({**scores, "right": SHARED, "by_category": by_category}, threshold), answers


def category_scores(examples: Sequence[Example], answers: Answers) -> dict[str, dict[str, float]]:
    """Return exact, f1 (percent) and total of each category of the questions, where they have categories."""
    scores = {}
    for name in sorted({e.category for e in examples if e.category is not None}):
        found = evaluate_predictions([e for e in examples if e.category == name], answers)
        scores[name] = {key: found[key] for key in ("exact", "f1", "total")}
    return scores


def score_fields(scores: Mapping[str, Any], null_threshold: float | None) -> dict[str, Any]:
    """Return the fields of an Accuracy from a model's scores and its own threshold."""
    scores = {**scores, "n": scores["total"], "null_threshold": null_threshold}
    if "NoAns_total" not in scores:  # the HasAns_ scores would repeat exact and f1
        scores = {name: value for name, value in scores.items() if not name.startswith(("HasAns", "best"))}
    return {name: value for name, value in scores.items() if name in SCORES}


def answers_path(rows_path: Path, bundle_sha256: str, data_sha256: str, target: str = CPU) -> Path:
    """Return the file of a bundle's answers: <rows>.predictions/<bundle>-<data>.json, with the name of a
    target other than this machine's CPU behind.
    """
    where = "" if target == CPU else f"-{target.replace('/', '-')}"
    return rows_path.with_suffix(".predictions") / f"{bundle_sha256[:16]}-{data_sha256[:16]}{where}.json"


def save_answers(path: Path, answers: Answers) -> None:
    """Write answers in the official prediction format, by rename."""
    write_whole(path, json.dumps(answers, ensure_ascii=False))


def load_answers(path: Path) -> Answers | None:
    """Read answers kept earlier; None where there are none, or the file is damaged and will be replaced."""
    with suppress(SquadFormatError):
        return read_predictions(path) if path.is_file() else None
    return None


def exact_and_f1(examples: Sequence[Example], answers: Answers) -> np.ndarray:
    """Return the EM and F1 (Q, 2) of every question in percent; a missing answer has 0."""
    return 100.0 * np.array(list(scores_by_question(examples, answers)), np.float64)


def relations(run: Run, model: ModelUnderTest) -> dict[str, Any]:
    """Return intervals, F1 retained, the agreement with parent or baseline, and what was known of the data.

    Intervals need the answers kept, of the baseline too; those of what is retained are paired question by
    question.
    """
    base = run.baseline
    answers = _answers(run, model.sha256)
    bundle = model.bundle
    overlap = train_overlap(bundle.path, bundle.manifest, run.data.sha256, run.examples)
    tuned = bundle.is_tuned_on(run.data.sha256)
    fields: dict[str, Any] = {"train_overlap": overlap, "tuned_on_data": tuned}
    if answers is not None:
        base_answers = None if base is None or base is model else _answers(run, base.sha256)
        fields |= answer_intervals(run.examples, answers, base_answers)
    candidates = {}
    if model.sha256 != model.bundle.sha256:  # made of the bundle by a toolchain, or in another precision
        candidates[model.bundle.sha256] = model.bundle.reference().name
    elif parent := model.bundle.manifest.parent:
        candidates[parent.sha256] = parent.name
    if base is not None:
        fields |= {"baseline": base.name, "baseline_sha256": base.sha256}
        if model.accuracy is not None and base.accuracy is not None and base.accuracy.f1:
            fields["f1_retained"] = model.accuracy.f1 / base.accuracy.f1
        if base is not model:
            candidates.setdefault(base.sha256, base.name)
    for sha256, name in candidates.items():
        reference = _answers(run, sha256)
        if answers is not None and reference is not None:
            same = sum(text == reference[qid] for qid, text in answers.items()) / len(answers)
            return fields | {"same_answers": same, "same_answers_as": name}
    return fields


def _answers_path(run: Run, sha256: str) -> Path:
    return answers_path(run.file.path, sha256, run.data.sha256, run.target)


def _answers(run: Run, sha256: str) -> Answers | None:
    return load_answers(_answers_path(run, sha256))


def answer_intervals(
    examples: Sequence[Example], answers: Answers, base_answers: Answers | None
) -> dict[str, Any]:
    """Return the ends of the intervals of EM and F1 and, with the baseline's answers, of both retained.

    A few questions have none.
    """
    if len(examples) < MIN_QUESTIONS:
        return {}
    scores = [exact_and_f1(examples, each) for each in (answers, base_answers) if each is not None]
    articles = articles_of(examples)
    baseline = None if base_answers is None else 1
    fields: dict[str, Any] = {}
    for name, columns in zip(("exact", "f1"), np.stack(scores, axis=2).transpose(1, 0, 2), strict=True):
        (own, *_), (retained, *_), over = score_intervals(columns, articles, baseline)
        fields |= {f"{name}_low": round(own.low, 4), f"{name}_high": round(own.high, 4), "resampled": over}
        if retained is not None:
            fields |= {
                f"{name}_retained_low": round(retained.low, 6),
                f"{name}_retained_high": round(retained.high, 6),
            }
    return fields
