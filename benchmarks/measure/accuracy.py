"""Accuracy of a model on one data set: measured once, then found again in the results; and the answers it
gave, kept beside them.

Answers are kept so that an export can be compared with its PyTorch parent question by question, also across
runs.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure.command_line import note
from benchmarks.measure.conditions import cores_for
from benchmarks.measure.models import ModelUnderTest, Run
from benchmarks.measure.process import Worker
from benchmarks.results.rows import CPU, Accuracy, Runtime, newest
from qa.base.files import write_whole
from qa.bundles.bundle import Bundle
from qa.data.metrics import question_scores
from qa.data.squad import Example, read_predictions
from qa.evaluation.bootstrap import score_intervals
from qa.evaluation.predict import answer_text, evaluate_runtime
from qa.evaluation.threshold import tune_for_bundle
from qa.runtime.runtimes import Runtime as LoadedRuntime
from qa.runtime.runtimes import available_cores, load_runtime

Answers = dict[str, str]
ANSWERABLE = ("n", "n_windows", "exact", "f1", "by_category")
SCORES = (
    *ANSWERABLE,
    "HasAns_exact",
    "HasAns_f1",
    "HasAns_total",
    "NoAns_exact",
    "NoAns_f1",
    "NoAns_total",
    "best_f1",
    "best_f1_thresh",
    "null_threshold",
)


def measure_accuracy(run: Run, model: ModelUnderTest) -> None:
    """Accuracy of one model, reused where the results have it; a result is appended when there is anything
    new."""
    # Some peers take minutes to load; the hash of one stands for its versions, so its runtime need not be
    # asked.
    known = known_accuracy(run, model) if model.metadata.get("peer") else None
    scores: dict[str, Any] = {}
    try:
        if known is None:
            with open_runtime(model) as (runtime, name):
                model.runtime = name
                known = known_accuracy(run, model)
                if known is None:
                    note(f"{model.name}: {name}, {len(run.examples)} questions")
                    bundle = model.bundle if model.in_process else with_own_threshold(model.bundle, runtime)
                    scores, answers = evaluate(runtime, bundle, run.examples)
    except Exception as error:  # runtimes raise their own types; the comparison goes on without this one
        run.fail(model, error)
        return
    if known is None:
        save_answers(answers_path(run.file.path, model.sha256, run.data.sha256, run.target), answers)
    else:
        model.runtime = known.runtime
        scores = {key: getattr(known, key) for key in SCORES}
    note(
        f"{model.name}: F1 {scores['f1']:.2f}, EM "
        f"{scores['exact']:.2f}{' (reused from the rows)' if known else ''}"
    )
    model.accuracy = Accuracy(**run.common(model), **scores)
    for key, value in relations(run, model).items():
        setattr(model.accuracy, key, value)
    if known is None or _relations_differ(model.accuracy, known):
        run.file.append(model.accuracy)


def _relations_differ(now: Accuracy, then: Accuracy) -> bool:
    """Whether anything but date and command does. Where the parent's answers are not kept any more, what they
    said stays."""
    if now.same_answers is None:
        now.same_answers = then.same_answers
        now.same_answers_as = then.same_answers_as
    names = [name for name in Accuracy.__struct_fields__ if name not in ("date", "command", "model")]
    return any(getattr(now, name) != getattr(then, name) for name in names)


def known_accuracy(run: Run, model: ModelUnderTest) -> Accuracy | None:
    """The newest scores of this model on this data, target and machine; where its runtime is not known yet,
    of any."""
    wanted = {
        "bundle_sha256": model.sha256,
        "runtime": model.runtime,
        "target": run.target,
        "machine": run.machine,
    }
    return newest(run.file.old, Accuracy, **wanted, data=run.data)


@contextmanager
def open_runtime(model: ModelUnderTest) -> Iterator[tuple[LoadedRuntime, Runtime]]:
    """A model on all cores: a bundle in this process, a peer or a GPU's in a worker."""
    if model.in_process:
        runtime = load_runtime(model.bundle)
        yield runtime, Runtime(runtime.package, runtime.version)
        return
    threads = available_cores()
    worker = Worker(model.deployment, threads, cores_for(threads))
    try:
        yield worker, worker.runtime
    finally:
        worker.close()


def with_own_threshold(bundle: Bundle, runtime: LoadedRuntime) -> Bundle:
    """The bundle with the no-answer threshold that is the best for what a peer made of it."""
    return replace(bundle, settings=tune_for_bundle(runtime, bundle.tokenizer, bundle.settings, bundle.path))


def evaluate(
    runtime: LoadedRuntime, bundle: Bundle, examples: Sequence[Example]
) -> tuple[dict[str, Any], Answers]:
    """Run the bundle over all examples: (fields of an Accuracy, answer text by question id)."""
    scores, predictions = evaluate_runtime(runtime, bundle, examples, progress=sys.stderr.isatty())
    threshold = bundle.settings.null_threshold
    answers = {e.id: answer_text(e, p, threshold) for e, p in zip(examples, predictions, strict=True)}
    by_category = category_scores(examples, answers)
    return score_fields({**scores, "by_category": by_category}, threshold), answers


def category_scores(examples: Sequence[Example], answers: Answers) -> dict[str, dict[str, float]]:
    """Return exact, f1 (percent) and total of each category of the questions, where they have categories."""
    names = sorted({e.category for e in examples if e.category is not None})
    scores = {}
    for name in names:
        pairs = np.array([question_scores(e, answers[e.id]) for e in examples if e.category == name])
        exact, f1 = 100 * pairs.mean(axis=0)
        scores[name] = {"exact": float(exact), "f1": float(f1), "total": len(pairs)}
    return scores


def score_fields(scores: Mapping[str, Any], null_threshold: float | None) -> dict[str, Any]:
    """The fields of an Accuracy that a model's scores are, with its own threshold."""
    scores = {**scores, "n": scores["total"], "null_threshold": null_threshold}
    names: Sequence[str] = SCORES
    if "NoAns_total" not in scores:
        # Every question has an answer: the HasAns_ columns would repeat exact and f1, and the best is to
        # answer always.
        names = ANSWERABLE if null_threshold is None else (*ANSWERABLE, "best_f1", "null_threshold")
    return {name: scores[name] for name in names if name in scores}


def answers_path(rows_path: Path, bundle_sha256: str, data_sha256: str, target: str = CPU) -> Path:
    """Where a bundle's answers to a data set are kept: <rows>.predictions/<bundle>-<data>.json, a GPU's with
    its name behind."""
    where = "" if target == CPU else f"-{target}"
    return rows_path.with_suffix(".predictions") / f"{bundle_sha256[:16]}-{data_sha256[:16]}{where}.json"


def save_answers(path: Path, answers: Answers) -> None:
    """Write in the official prediction format, by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(answers, ensure_ascii=False))


def load_answers(path: Path) -> Answers | None:
    """Answers kept earlier, or None."""
    return read_predictions(path) if path.is_file() else None


def f1_scores(examples: Sequence[Example], answers: Answers) -> np.ndarray:
    """F1 (Q,) of every question in percent; an answer that is missing has 0."""
    return np.array(
        [100.0 * question_scores(e, answers[e.id])[1] if e.id in answers else 0.0 for e in examples]
    )


def agreement(answers: Mapping[str, str], others: Mapping[str, str]) -> float:
    """Share of questions (0 to 1) with letter-identical answer texts. ValueError when the questions
    differ.
    """
    if answers.keys() != others.keys() or not answers:
        raise ValueError(f"answers to {len(answers)} and {len(others)} questions that are not the same")
    return sum(text == others[qid] for qid, text in answers.items()) / len(answers)


def relations(run: Run, model: ModelUnderTest) -> dict[str, Any]:
    """F1's interval, F1 retained against the baseline with its own, and the agreement with the parent or the
    baseline.

    Intervals need the answers kept, of the baseline too; the interval of F1 retained is paired question by
    question.
    """
    found = _intervals(run, model)
    base = run.baseline
    own = model.accuracy
    if base is not None:
        found |= {"baseline": base.name, "baseline_sha256": base.sha256}
        if own is not None and base.accuracy is not None and base.accuracy.f1:
            found["f1_retained"] = own.f1 / base.accuracy.f1
    is_bundle = (
        model.sha256 == model.bundle.sha256
    )  # else it was made of one, by a peer or in another precision
    parent = model.bundle.manifest.parent if is_bundle else model.bundle.reference()
    others = {parent.sha256: parent.name} if parent else {}
    others |= (
        {base.sha256: base.name}
        if base is not None and base is not model and base.sha256 not in others
        else {}
    )
    answers = _answers(run, model.sha256)
    for sha256, name in others.items():
        theirs = _answers(run, sha256)
        if answers is not None and theirs is not None:
            return found | {"same_answers": agreement(answers, theirs), "same_answers_as": name}
    return found


def _answers(run: Run, sha256: str) -> Answers | None:
    return load_answers(answers_path(run.file.path, sha256, run.data.sha256, run.target))


def _intervals(run: Run, model: ModelUnderTest) -> dict[str, Any]:
    base = run.baseline if run.baseline is not model else None
    own, theirs = (_answers(run, one.sha256) if one is not None else None for one in (model, base))
    if own is None:
        return {}
    both = np.stack(
        [f1_scores(run.examples, answers) for answers in (own, theirs) if answers is not None], axis=1
    )
    articles = [e.title for e in run.examples]
    (f1, *_), (retained, *_), over = score_intervals(both, articles, None if theirs is None else 1)
    found: dict[str, Any] = {"f1_low": round(f1.low, 4), "f1_high": round(f1.high, 4), "resampled": over}
    if retained is not None:
        found |= {"f1_retained_low": round(retained.low, 6), "f1_retained_high": round(retained.high, 6)}
    return found
