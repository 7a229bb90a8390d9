"""The scores that a bundle's manifest and card have of it, when questions to score it on were given as it was
made."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from qa.bundles.bundle import ModelFolder
from qa.bundles.manifest import Scores
from qa.data.datasets import data_reference, resolve
from qa.data.metrics import question_scores
from qa.data.squad import Example, read_squad
from qa.evaluation.bootstrap import article_interval
from qa.evaluation.predict import answer_text, evaluate_runtime
from qa.runtime.runtimes import Runtime
from qa.text.answers import Prediction


@dataclass(frozen=True)
class EvalData:
    """Questions to score a model on, and the file they are from."""

    file: Path
    examples: list[Example]


def load_eval(data: str | None) -> EvalData | None:
    """Read and check the dev part of a named data set, or a SQuAD JSON file; None for None."""
    if data is None:
        return None
    file = resolve(data, "dev")
    return EvalData(file, read_squad(file))


def scores_of(runtime: Runtime, model: ModelFolder, data: EvalData) -> Scores:
    """Score a model on `data`, for its manifest and card."""
    scores, predictions = evaluate_runtime(runtime, model, data.examples, progress=sys.stderr.isatty())
    intervals = score_intervals(data.examples, predictions, model.settings.null_threshold)
    return msgspec.convert({"data": data_reference(data.file), **scores, **intervals}, Scores)


def score_intervals(
    examples: Sequence[Example], predictions: Sequence[Prediction], null_threshold: float | None
) -> dict[str, Any]:
    """n_articles and, where these are enough, exact_interval and f1_interval: [low, high] in percent, at 95
    %."""
    articles = [e.title for e in examples]
    answers = [answer_text(e, p, null_threshold) for e, p in zip(examples, predictions, strict=True)]
    scores = 100 * np.array(
        [question_scores(e, answer) for e, answer in zip(examples, answers, strict=True)]
    )  # (Q, 2)
    found = {
        f"{name}_interval": article_interval(scores[:, i], articles) for i, name in enumerate(("exact", "f1"))
    }
    return {"n_articles": len(set(articles)), **{name: list(ends) for name, ends in found.items() if ends}}
