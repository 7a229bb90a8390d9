"""Spans of a question's windows, and the groups of overlapping spans that are its answers; Android and the
page mirror it.

Spans. A span starts and ends in the context, starts where its window has the most context, and has at most
`max_answer_length` tokens. So it is a span of one window only, also where windows overlap. Its score is start
logit + end logit.

Best spans. Of each window, the spans between its `n_best` starts and ends: the best one, then the best one
that shares no character with it, and so on. Of all windows, the `n_best` best of these, again without those
that share a character with a better one. Equal scores go to the earlier start, then the earlier end. (BERT's
run_squad.py takes starts and ends among all tokens, with the question.)

Groups. The group of a best span has all spans that share a character with it, except those of a better group.
Its share is its softmax score: the sum of exp(score) over its spans, divided by that over all spans.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qa.text.features import Window
from qa.text.settings import QASettings


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans of one window: from each of S tokens to up to L tokens."""

    window: Window
    lasts: np.ndarray
    """Last token of each span (S, L)."""
    scores: np.ndarray
    """Scores (S, L); -inf where the window ends before the span does."""


def window_spans(
    window: Window, start_logits: np.ndarray, end_logits: np.ndarray, settings: QASettings
) -> tuple[Spans, np.ndarray]:
    """Return the spans of one window, and the best of them: (K, 3) scores, starts and ends in characters.

    Logits are (T,) over the window's tokens, padding allowed.
    """
    n = len(window.char_starts)
    context = slice(window.context_begin, window.context_begin + n)
    start = np.asarray(start_logits[context], np.float64)
    end = np.asarray(end_logits[context], np.float64)
    firsts = np.flatnonzero(window.max_context)[:, None]
    lasts = firsts + np.arange(min(settings.max_answer_length, n))
    inside = lasts < n
    lasts = np.minimum(lasts, n - 1)
    spans = Spans(window, lasts, np.where(inside, start[firsts] + end[lasts], -np.inf))
    tried = inside & _is_top(start, settings.n_best)[firsts] & _is_top(end, settings.n_best)[lasts]
    rows, columns = np.nonzero(tried)
    starts = window.char_starts[firsts[rows, 0]]
    ends = window.char_ends[lasts[rows, columns]]
    best = np.stack([spans.scores[rows, columns], starts, ends], axis=1)
    return spans, apart(ranked(best))


def _is_top(values: np.ndarray, n: int) -> np.ndarray:
    """Return whether each value is one of the n largest, the earlier of equals."""
    is_top = np.zeros(len(values), bool)
    is_top[np.argsort(-values, kind="stable")[:n]] = True
    return is_top


def ranked(best: np.ndarray) -> np.ndarray:
    """Return (K, 3) scores, starts and ends, best first."""
    scores, starts, ends = best.T
    return best[np.lexsort((ends, starts, -scores))]


def apart(best: np.ndarray) -> np.ndarray:
    """Return the ranked (K, 3) scores, starts and ends without those that overlap with a better one."""
    chosen = []
    while len(best):
        chosen.append(best[0])
        best = best[1:][~_overlap(*best[1:, 1:].T, *best[0, 1:])]
    return np.array(chosen).reshape(-1, 3)


def _overlap(starts: np.ndarray, ends: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return whether ranges share a character. A token of SentencePiece may be empty; it counts as one."""
    return (starts < np.maximum(end, start + 1)) & (start < np.maximum(ends, starts + 1))


def shares(spans: Sequence[Spans], best: np.ndarray) -> np.ndarray:
    """Return the share of each group (G,); `best` has its best span's score, start and end (G, 3), ranked."""
    n_groups = len(best)
    top = max(part.scores.max(initial=-np.inf) for part in spans)
    weights = np.zeros(n_groups + 1)  # the last one is that of spans without a group
    for part in spans:
        tokens = part.window.char_starts[:, None], part.window.char_ends[:, None]
        meets = _overlap(*tokens, *best[:, 1:].T)  # (N, G)
        meets = np.pad(meets, ((0, 0), (0, 1)), constant_values=True)
        met = meets.argmax(
            axis=1
        )  # (N,): the best group that a token meets; the padded column, where it meets none
        groups = np.minimum.accumulate(
            met[part.lasts], axis=1
        )  # (S, L): the best one met up to each last token
        weights += np.bincount(groups.ravel(), np.exp(part.scores - top).ravel(), n_groups + 1)
    share: np.ndarray = weights[:-1] / weights.sum()
    return share
