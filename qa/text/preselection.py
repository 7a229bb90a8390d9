"""Choice of a long text's windows: those that share most with the question, by BM25 (Robertson, Zaragoza
2009).

The question's tokens are the terms, windows the documents. All windows of a text but its last have one
length, so there is no normalization by length (b = 0); of several texts, short ones gain nothing.
android_demo's Preselection.java chooses exactly the same windows.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

import numpy as np
from tokenizers import Tokenizer

from qa.data.squad import Example
from qa.text.features import Passage, Window, each_window, max_contexts
from qa.text.settings import QASettings

MOST_WINDOWS = 16
"""Maximum number of windows read for a question."""
K1 = 1.2


def preselect(
    windows: Iterable[Window], settings: QASettings, questions: Sequence[int] | None = None
) -> list[Window]:
    """Return the windows to read, in order: all of a question's windows, or the best MOST_WINDOWS.

    A token then counts in the chosen window that sees it with the most context. `questions` holds the
    question of each example, ascending, where several examples are texts of one question.
    """
    return [
        window
        for _, of_question in groupby(windows, key=lambda w: questions[w.example] if questions else w.example)
        for window in _best_of_question(list(of_question), settings)
    ]


def windows_to_read(
    examples: Sequence[Example],
    tokenizer: Tokenizer,
    settings: QASettings,
    passages: dict[str, Passage] | None = None,
) -> list[Window]:
    """Return the windows of the examples that `ask`, the app and the page read, in order.

    `passages` as in `each_window`.
    """
    return preselect(each_window(examples, tokenizer, settings, passages=passages), settings)


def _best_of_question(windows: list[Window], settings: QASettings) -> list[Window]:
    if len(windows) <= MOST_WINDOWS:
        return windows
    chosen = best_windows([_parts(window)[1] for window in windows], _parts(windows[0])[0], MOST_WINDOWS)
    best = []
    first = 0
    for _, of_example in groupby(windows, key=attrgetter("example")):
        of_text = list(of_example)
        step = min(len(of_text[0].char_starts), settings.doc_stride)
        rows = [row - first for row in chosen if first <= row < first + len(of_text)]
        spans = [(row * step, len(of_text[row].char_starts)) for row in rows]
        contexts = zip(rows, max_contexts(spans) if spans else [], strict=True)
        best += [replace(of_text[row], max_context=max_context) for row, max_context in contexts]
        first += len(of_text)
    return best


def _parts(window: Window) -> tuple[np.ndarray, np.ndarray]:
    """Return token ids of the question, with separators, which no context has, and of the context."""
    begin = window.context_begin
    n = len(window.char_starts)
    return window.input_ids[1:begin], window.input_ids[begin : begin + n]


def best_windows(documents: Sequence[np.ndarray], question: np.ndarray, most: int) -> list[int]:
    """Return indices of the `most` windows with the best scores, ascending; of equals the earlier ones."""
    scores = np.zeros(len(documents))
    for term in dict.fromkeys(question.tolist()):  # in the question's order: sums of doubles depend on it
        counts = np.array([np.count_nonzero(document == term) for document in documents], float)
        n_with = int(np.count_nonzero(counts))
        # Logarithms of Java and C may differ in the last bit of a double, but not of a float.
        idf = float(np.float32(math.log(1 + (len(documents) - n_with + 0.5) / (n_with + 0.5))))
        scores += idf * (counts / (counts + K1))
    return sorted(np.argsort(-scores, kind="stable")[:most].tolist())
