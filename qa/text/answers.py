"""From start and end logits of a question's windows to n-best answers and a no-answer score; Android mirrors
it.

Rules, in order: a span starts and ends in the context, starts where this window has the most context, has at
most `max_answer_length` tokens; its score is start logit + end logit. Equal scores go to the earlier start,
then the earlier end. Each window gives spans between its `n_best` starts and ends among the tokens of the
context. BERT's run_squad.py takes those among all tokens, with the question, and so may have fewer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qa.base.errors import ProbeError
from qa.text.features import Window
from qa.text.settings import Calibration, QASettings

LARGEST_EXPONENT = 700.0  # of exp in float64


@dataclass(frozen=True, slots=True)
class Candidate:
    """Answer: characters [start, end) of the context, and its score (a sum of two logits)."""

    score: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """N-best answers, best first, and the null score: start[CLS] + end[CLS], least over windows."""

    candidates: tuple[Candidate, ...]
    null_score: float
    best_share: float | None = None
    """Share of the best candidate, where the others were left out."""

    @property
    def null_difference(self) -> float:
        """Null score minus the best answer's score: larger is less answerable; infinite without any."""
        return self.null_score - self.candidates[0].score if self.candidates else float("inf")

    def best(self, null_threshold: float | None) -> Candidate | None:
        """Return the answer; None without a candidate or when the null difference exceeds the threshold."""
        if not self.candidates or (null_threshold is not None and self.null_difference > null_threshold):
            return None
        return self.candidates[0]

    @property
    def share(self) -> float:
        """Softmax score of the best candidate among the candidates."""
        if self.best_share is not None:
            return self.best_share
        top = self.candidates[0].score
        return 1 / float(np.exp([c.score - top for c in self.candidates]).sum())

    def shortened(self) -> "Prediction":
        """Return the prediction with its best candidate only, and with that candidate's share."""
        return Prediction(self.candidates[:1], self.null_score, self.share if self.candidates else None)

    def no_answer_probability(self, calibration: Calibration) -> float:
        """Return the probability that the passage has no answer: a logistic function of the null difference.

        It is 1 / (1 + exp(-(null difference + offset) / temperature)).
        """
        exponent = -(self.null_difference + calibration.offset) / calibration.temperature
        return 1 / (1 + math.exp(min(exponent, LARGEST_EXPONENT)))

    def answer_probability(self, calibration: Calibration) -> float:
        """Return the probability that the best candidate is right: its share of what "no answer" leaves."""
        return self.share * (1 - self.no_answer_probability(calibration)) if self.candidates else 0.0

    def probability(self, null_threshold: float | None, calibration: Calibration | None = None) -> float:
        """Return the probability of `best`, as in `options`."""
        if not self.candidates:
            return 1.0
        if self.best(null_threshold) is not None:
            return self.best_probability(null_threshold, calibration)
        if calibration is not None:
            return self.no_answer_probability(calibration)
        no_answer = self._no_answer_weight(null_threshold)
        return no_answer / (1 / self.share + no_answer)

    def best_probability(self, null_threshold: float | None, calibration: Calibration | None) -> float:
        """Return the probability of the best candidate, as in `options`, even where it is declined."""
        if calibration is not None:
            return self.answer_probability(calibration)
        return 1 / (1 / self.share + self._no_answer_weight(null_threshold))

    def _no_answer_weight(self, null_threshold: float | None) -> float:
        """Return the softmax weight of "no answer" relative to the best candidate; 0 without a threshold."""
        if null_threshold is None:
            return 0.0
        return math.exp(min(self.null_difference - null_threshold, LARGEST_EXPONENT))

    def options(
        self, null_threshold: float | None, calibration: Calibration | None = None
    ) -> list[tuple[Candidate | None, float]]:
        """Return all options with probabilities: first `best`, then the others, most probable first.

        Options are the candidates and no answer (None). No answer is an option only where it can be given:
        with a threshold, or as the only one without candidates. Calibrated, "no answer" has its own
        probability, and candidates share the rest by the softmax of their scores. Otherwise probabilities
        are the softmax of the scores over all options, with no answer at null score - threshold.
        """
        if not self.candidates:
            return [(None, 1.0)]
        if calibration is not None:
            return self._calibrated_options(null_threshold, calibration)
        top = self.candidates[0].score
        options: list[tuple[Candidate | None, float]] = [(c, c.score - top) for c in self.candidates]
        if null_threshold is not None:
            options.append((None, self.null_difference - null_threshold))
        # Stable: no answer stands behind a candidate it equals, as in `best`.
        options.sort(key=lambda option: -option[1])
        weights = np.exp([difference - options[0][1] for _, difference in options])
        return [
            (option, float(weight))
            for (option, _), weight in zip(options, weights / weights.sum(), strict=True)
        ]

    def _calibrated_options(
        self, null_threshold: float | None, calibration: Calibration
    ) -> list[tuple[Candidate | None, float]]:
        top = self.candidates[0].score
        best = self.answer_probability(calibration)
        options: list[tuple[Candidate | None, float]] = [
            (c, best * math.exp(c.score - top)) for c in self.candidates
        ]
        if null_threshold is not None:
            options.append((None, self.no_answer_probability(calibration)))
        given = self.best(null_threshold)
        return sorted(options, key=lambda option: (option[0] is not given, -option[1]))


def _top(values: np.ndarray, n: int) -> np.ndarray:
    """Return indices of the n largest values, largest first, the earlier of equals first."""
    return np.argsort(-values, kind="stable")[:n]


def window_candidates(
    window: Window, start_logits: np.ndarray, end_logits: np.ndarray, settings: QASettings
) -> list[Candidate]:
    """Return the best spans of one window, unsorted; logits are (T,) over its tokens, padding allowed."""
    n = len(window.char_starts)
    begin = window.context_begin
    start = np.asarray(start_logits[begin : begin + n], np.float64)
    end = np.asarray(end_logits[begin : begin + n], np.float64)
    starts = _top(start, settings.n_best)
    ends = _top(end, settings.n_best)
    if n == 0:
        return []
    first = starts[:, None]
    last = ends[None, :]
    allowed = (last >= first) & (last - first < settings.max_answer_length) & window.max_context[first]
    return [
        Candidate(float(start[i] + end[j]), int(window.char_starts[i]), int(window.char_ends[j]))
        for i, j in ((starts[row], ends[column]) for row, column in np.argwhere(allowed))
    ]


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
    pool: dict[tuple[int, int], Candidate] = {}
    null_score = float("inf")
    for window, (start, end) in zip(windows, logits, strict=True):
        _check_finite(start, end, len(window.input_ids))
        null_score = min(null_score, float(np.float64(start[0]) + np.float64(end[0])))
        for candidate in window_candidates(window, start, end, settings):
            key = (candidate.start, candidate.end)
            if key not in pool or candidate.score > pool[key].score:
                pool[key] = candidate
    ranked = sorted(pool.values(), key=lambda c: (-c.score, c.start, c.end))
    return Prediction(tuple(ranked[: settings.n_best]), null_score)
