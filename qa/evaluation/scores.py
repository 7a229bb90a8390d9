"""Scores of a new model, for its manifest and card."""

import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from qa.base.files import file_sha256
from qa.bundles.bundle import Draft
from qa.bundles.manifest import Scores
from qa.bundles.trained_on import train_overlap
from qa.data.datasets import data_reference, resolve
from qa.data.metrics import has_answer, scores_by_question
from qa.data.squad import Example, articles_of, read_squad
from qa.evaluation.bootstrap import score_intervals
from qa.evaluation.calibration import calibration_scores
from qa.evaluation.coverage import coverage
from qa.evaluation.predict import answer_texts, evaluate_runtime
from qa.runtime.runtimes import Runtime
from qa.text.settings import QASettings


@dataclass(frozen=True)
class EvalData:
    """Questions to score a model on, and their file."""

    file: Path
    examples: list[Example]


def load_eval(data: str | None) -> EvalData | None:
    """Read and check the dev part of a named data set, or a file of questions; None for None."""
    if data is None:
        return None
    file = resolve(data, "dev")
    return EvalData(file, read_squad(file))


def scores_of(runtime: Runtime, draft: Draft, settings: QASettings, data: EvalData) -> Scores:
    """Score a new bundle on `data`, for its manifest and card; warn on stderr where it was tuned on them.

    Intervals are there when the data has MIN_ARTICLES articles at least.
    """
    tuning = draft.recorded.tuning
    model = draft.model(settings)
    articles = articles_of(data.examples)
    tuned_on = {file.sha256 for file in tuning.files} if tuning else set()
    asked = len(data.examples), sum(not has_answer(e) for e in data.examples), len(set(articles))
    is_held_out = tuning is not None and not tuned_on and asked == tuning.counts
    if is_held_out or file_sha256(data.file) in tuned_on:
        print(
            "the scores are of the questions that the thresholds are tuned on, so they are too high",
            file=sys.stderr,
        )
    metrics, predictions = evaluate_runtime(runtime, model, data.examples)
    metrics |= calibration_scores(data.examples, predictions, model.settings)
    metrics["coverage_at_80"] = coverage(data.examples, predictions, model.settings)
    answers = answer_texts(data.examples, predictions, model.settings.null_threshold)
    by_question = scores_by_question(data.examples, answers)
    facts = {"data": data_reference(data.file), **metrics, "n_articles": len(set(articles))}
    facts["train_overlap"] = train_overlap(draft.path, draft.recorded, file_sha256(data.file), data.examples)
    (exact, f1), _, resampled = score_intervals(100 * np.array(by_question), articles)  # (Q, 2)
    if resampled == "articles":
        facts |= {"exact_interval": (exact.low, exact.high), "f1_interval": (f1.low, f1.high)}
    return msgspec.convert(facts, Scores)
