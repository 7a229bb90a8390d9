"""From start and end logits of a question's windows to answers and a no-answer score; Android and the page
mirror it.

An answer is a group of overlapping spans (`qa.text.groups`): its best span is shown, with the probability of
the group. The best span decides whether there is an answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qa.base.errors import ProbeError
from qa.text.features import Window
from qa.text.groups import apart, ranked, shares, window_spans
from qa.text.settings import Calibration, QASettings

LARGEST_EXPONENT = 700.0  # of exp in float64


@dataclass(frozen=True, slots=True)
class Candidate:
    """Answer: its best span, characters [start, end) of the context, and that span's score."""

    score: float
    start: int
    end: int
    share: float
    """Share of the group's spans in the softmax over all spans."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Answers: the best one, then the others, largest share first; and the null score.

    The best answer has the best span. The null score is start[CLS] + end[CLS], least over windows.
    """

    candidates: tuple[Candidate, ...]
    null_score: float

    @property
    def null_difference(self) -> float:
        """Null score minus the best answer's score: larger is less answerable; infinite without any."""
        return self.null_score - self.candidates[0].score if self.candidates else float("inf")

    def best(self, null_threshold: float | None) -> Candidate | None:
        """Return the answer; None without a candidate or when the null difference exceeds the threshold."""
        if not self.candidates or (null_threshold is not None and self.null_difference > null_threshold):
            return None
        return self.candidates[0]

    def shortened(self) -> "Prediction":
        """Return the prediction with its best candidate only."""
        return Prediction(self.candidates[:1], self.null_score)

    def no_answer_probability(self, null_threshold: float | None, calibration: Calibration | None) -> float:
        """Return the probability that the passage has no answer: a logistic function of the null difference.

        It is 1 / (1 + exp(-(null difference + offset) / temperature)). Without a calibration, the temperature
        is 1 and the offset -threshold; without a threshold too, "no answer" is impossible.
        """
        if not self.candidates:
            return 1.0
        if calibration is None:
            if null_threshold is None:
                return 0.0
            calibration = Calibration(1.0, -null_threshold)
        exponent = -(self.null_difference + calibration.offset) / calibration.temperature
        return 1 / (1 + math.exp(min(exponent, LARGEST_EXPONENT)))

    def best_probability(self, null_threshold: float | None, calibration: Calibration | None) -> float:
        """Return the probability of the best candidate, as in `options`, even where it is declined."""
        left = 1 - self.no_answer_probability(null_threshold, calibration)
        return self.candidates[0].share * left if self.candidates else 0.0

    def probability(self, null_threshold: float | None, calibration: Calibration | None) -> float:
        """Return the probability of `best`, as in `options`."""
        if self.best(null_threshold) is None:
            return self.no_answer_probability(null_threshold, calibration)
        return self.best_probability(null_threshold, calibration)

    def options(
        self, null_threshold: float | None, calibration: Calibration | None
    ) -> list[tuple[Candidate | None, float]]:
        """Return all options with probabilities: first `best`, then the others, most probable first.

        Options are the candidates and no answer (None). No answer is an option only where it can be given:
        with a threshold, or as the only one without candidates. "No answer" has its own probability, and
        candidates share the rest.
        """
        none = self.no_answer_probability(null_threshold, calibration)
        options: list[tuple[Candidate | None, float]] = [(c, c.share * (1 - none)) for c in self.candidates]
        if null_threshold is not None or not self.candidates:
            options.append((None, none))
        given = self.best(null_threshold)
        # In single precision, as `decode` orders candidates: sums of doubles depend on their order.
        return sorted(options, key=lambda option: (option[0] is not given, -np.float32(option[1])))


def _check_finite(start: np.ndarray, end: np.ndarray, n: int) -> None:
    tokens = np.concatenate([start[:n], end[:n]])
    if not np.isfinite(tokens).all():
        wrong = tokens[~np.isfinite(tokens)][0]
        raise ProbeError(
            f"the model computed {wrong} for a token, so it cannot answer; export it in another precision"
        )


def decode(
    windows: Sequence[Window], logits: Sequence[tuple[np.ndarray, np.ndarray]], settings: QASettings
) -> Prediction:
    """Join the windows of one question; `logits` holds (start (T,), end (T,)) for each window.

    ProbeError when a token's logit is not finite, because then answers cannot be ranked.
    """
    spans = []
    best = []
    null_score = float("inf")
    for window, (start, end) in zip(windows, logits, strict=True):
        _check_finite(start, end, len(window.input_ids))
        null_score = min(null_score, float(np.float64(start[0]) + np.float64(end[0])))
        of_window, best_of_window = window_spans(window, start, end, settings)
        spans.append(of_window)
        best.append(best_of_window)
    if not any(map(len, best)):
        return Prediction((), null_score)
    answers = apart(ranked(np.concatenate(best))[: settings.n_best])
    values = zip(*answers.T, shares(spans, answers), strict=True)
    first, *others = (Candidate(float(score), int(a), int(b), float(share)) for score, a, b, share in values)
    # In single precision, so that equal shares, which other languages sum in another order, stay as ranked.
    others.sort(key=lambda candidate: -np.float32(candidate.share))
    return Prediction((first, *others), null_score)
