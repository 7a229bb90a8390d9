"""Calibration of a file's probabilities: its fit on held-out questions, and its error on any questions.

A probability is that of a group of overlapping spans. So an answer is right when its best span shares a
character with a gold answer, or matches one exactly (the official script's exact match). "No answer" is right
when the question has none. The expected calibration error is that of Naeini et al. (2015), in
N_BINS bins of equal width, in percent.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from qa.data.metrics import has_answer, question_scores
from qa.data.squad import Example
from qa.text.answers import Candidate, Prediction
from qa.text.settings import Calibration, QASettings

N_BINS = 10
N_STEPS = 9  # values of temperature and offset in each round of the search
N_ROUNDS = 10
SHRINK = 0.5
CERTAIN = 1e-9


def is_right(example: Example, given: Candidate | None) -> bool:
    """Return whether an answer, or "no answer" (None), is right."""
    if given is None or not has_answer(example):
        return given is None and not has_answer(example)
    if any(a.start < given.end and given.start < a.start + len(a.text) for a in example.answers):
        return True
    return question_scores(example, example.context[given.start : given.end])[0] == 1


def equal_groups(*files: Sequence[Example]) -> np.ndarray:
    """Return the group (Q,) of each question of all files; groups weigh the same, whatever their sizes.

    Those with an answer and those without are two groups of each file. The share of unanswerable questions
    differs between data sets, and that among a user's questions is unknown.
    """
    return np.array([2 * number + (not has_answer(e)) for number, file in enumerate(files) for e in file])


def fit_calibration(
    examples: Sequence[Example], predictions: Sequence[Prediction], groups: np.ndarray
) -> Calibration:
    """Return the temperature and offset with the least log loss on these questions, in `groups` (Q,).

    The loss is the sum of two: is the best candidate right, and is there no answer. Both are asked of every
    question with a candidate, so the fit does not depend on a threshold. The groups have equal weight, as for
    the threshold. A grid around the best pair shrinks from round to round.
    """
    asked = [bool(p.candidates) for p in predictions]
    pairs = [(e, p) for e, p in zip(examples, predictions, strict=True) if p.candidates]
    if not pairs:
        return Calibration(1.0, 0.0)
    differences = np.array([p.null_difference for _, p in pairs])
    shares = np.array([p.candidates[0].share for _, p in pairs])
    unanswerable = np.array([not has_answer(e) for e, _ in pairs])
    right = np.array([is_right(e, p.candidates[0]) for e, p in pairs])
    _, group, sizes = np.unique(groups[asked], return_inverse=True, return_counts=True)
    weights = 1 / sizes[group]

    def loss(log_temperature: float, offset: float) -> float:
        logits = (differences + offset) / np.exp(log_temperature)  # (Q,), of "no answer"
        none = np.where(unanswerable, np.logaddexp(0, -logits), np.logaddexp(0, logits))
        answer = shares * np.exp(-np.logaddexp(0, logits))
        answered = -np.log(np.clip(np.where(right, answer, 1 - answer), CERTAIN, None))
        return float(np.average(none + answered, weights=weights))

    spread = max(float(differences.std()), 1.0)
    best = (float(np.log(spread)), -float(np.median(differences)))
    reach = (3.0, 3 * spread)
    for _ in range(N_ROUNDS):
        steps = np.linspace(-1, 1, N_STEPS)
        grid = [(best[0] + u * reach[0], best[1] + v * reach[1]) for u in steps for v in steps]
        best = min(grid, key=lambda pair: loss(*pair))
        reach = (SHRINK * reach[0], SHRINK * reach[1])
    return Calibration(float(np.exp(best[0])), float(best[1]))


def calibration_scores(
    examples: Sequence[Example], predictions: Sequence[Prediction], settings: QASettings
) -> dict[str, Any]:
    """Return the calibration error of calibrated settings, and the bins of a reliability plot; else nothing.

    Both are also those of the softmax scores (uncalibrated). A bin is (mean probability, share of right
    results, number of results).
    """
    if settings.calibration is None:
        return {}
    threshold = settings.null_threshold
    right = np.array([is_right(e, p.best(threshold)) for e, p in zip(examples, predictions, strict=True)])
    scores: dict[str, Any] = {}
    for prefix, calibration in (("", settings.calibration), ("uncalibrated_", None)):
        probabilities = np.array([p.probability(threshold, calibration) for p in predictions])
        scores[f"{prefix}calibration_error"] = calibration_error(probabilities, right)
        scores[f"{prefix}reliability"] = reliability(probabilities, right)
    return scores


def reliability(probabilities: np.ndarray, right: np.ndarray) -> list[tuple[float, float, int]]:
    """Return (mean probability, share right, number) of each bin that holds a result; both (Q,)."""
    bins = np.minimum((N_BINS * probabilities).astype(int), N_BINS - 1)
    return [
        (float(probabilities[inside].mean()), float(right[inside].mean()), int(inside.sum()))
        for inside in (bins == number for number in range(N_BINS))
        if inside.any()
    ]


def calibration_error(probabilities: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error in percent: the mean gap of the bins, weighted by results."""
    gaps = [n * abs(mean - share) for mean, share, n in reliability(probabilities, right)]
    return 100 * sum(gaps) / len(probabilities)
