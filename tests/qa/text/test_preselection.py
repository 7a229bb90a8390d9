"""Which windows of a long text are read: worked out by hand, with the answers' places, and by the way in from
Python."""

import math

import numpy as np
import pytest

from qa import load
from qa.bundles.bundle import open_bundle
from qa.data.squad import Example
from qa.text.features import Window, make_windows
from qa.text.preselection import K1, MOST_WINDOWS, best_windows, preselect
from qa.text.settings import QASettings

QUESTION = "Where is the harbour?"
SENTENCES = [
    f"Sentence number {n} of this long text tells nothing of note to anyone at all." for n in range(400)
]


def long_text(*, answer_at):
    return " ".join([*SENTENCES[:answer_at], "The harbour is in Kiel.", *SENTENCES[answer_at:]])


def idf(n, n_with):
    return math.log(1 + (n - n_with + 0.5) / (n_with + 0.5))


def test_scores_are_those_of_bm25():
    documents = [np.array(ids) for ids in ([7, 7, 1], [7, 8, 1], [8, 8, 8], [1, 1, 1])]
    question = np.array([7, 8, 7])  # a term counts once
    seven = idf(4, 2)
    eight = idf(4, 2)
    scores = [seven * 2 / (2 + K1), seven / (1 + K1) + eight / (1 + K1), eight * 3 / (3 + K1), 0]
    order = sorted(range(4), key=lambda row: -scores[row])
    assert order == [1, 2, 0, 3]
    for most in range(1, 5):
        assert best_windows(documents, question, most) == sorted(order[:most])


def test_rare_terms_weigh_more_and_unknown_ones_nothing():
    documents = [np.array([1, 1])] * 9 + [np.array([1, 2])]
    assert best_windows(documents, np.array([1, 2, 99]), 1) == [9]
    assert best_windows(documents, np.array([99]), 3) == [0, 1, 2]  # of equals the earlier
    assert best_windows(documents, np.array([], int), 2) == [0, 1]


def windows_of(texts, tokenizer, settings):
    examples = [Example(str(n), "", text, QUESTION, (), False) for n, text in enumerate(texts)]
    return make_windows(examples, tokenizer, settings)


@pytest.fixture(scope="module")
def tokenizer(make_bundle):
    return open_bundle(make_bundle()).tokenizer


def test_short_texts_are_read_whole_and_each_question_for_itself(tokenizer):
    settings = QASettings()
    texts = [" ".join(SENTENCES[:50]), long_text(answer_at=370), " ".join(SENTENCES[50:90])]
    windows = windows_of(texts, tokenizer, settings)
    read = preselect(windows, settings)
    counts = [[w.example for w in some].count(n) for some in (windows, read) for n in range(3)]
    assert counts[1] > MOST_WINDOWS
    assert counts[3:] == [counts[0], MOST_WINDOWS, counts[2]]
    assert [w for w in read if w.example == 0] == [w for w in windows if w.example == 0]
    of_long = [w for w in read if w.example == 1]
    assert any("harbour" in texts[1][w.char_starts[0] : w.char_ends[-1]] for w in of_long)
    starts = [int(w.char_starts[0]) for w in of_long]
    assert starts == sorted(starts)


def test_every_token_that_is_read_counts_in_one_window(tokenizer):
    settings = QASettings()
    read = preselect(windows_of([long_text(answer_at=123)], tokenizer, settings), settings)
    seen = set()
    owned = []
    for window in read:
        seen |= set(window.char_starts.tolist())
        owned += window.char_starts[window.max_context].tolist()
    assert len(owned) == len(set(owned))
    assert set(owned) == seen


def test_a_window_alone_owns_all_its_tokens():
    settings = QASettings(max_length=9, doc_stride=5, max_question_length=3)
    ids = [np.array([101, 7, 102, *([7] if n == 30 else [1]), 1, 1, 1, 1, 102]) for n in range(40)]
    windows = [
        Window(0, own, 3, np.arange(5) + 5 * n, np.arange(5) + 5 * n + 1, np.zeros(5, bool), 0, 0)
        for n, own in enumerate(ids)
    ]
    read = preselect(windows, settings)
    assert [int(w.char_starts[0]) // 5 for w in read] == [*range(15), 30]
    assert all(w.max_context.all() for w in read)  # these do not overlap


def test_the_way_in_from_python_says_what_it_left_out(make_bundle):
    model = load(make_bundle())
    text = long_text(answer_at=200)
    some, everything = (
        model.read([(QUESTION, text), (QUESTION, "Kiel")], read_all=all_) for all_ in (False, True)
    )
    assert some.n_windows_in_text == everything.n_windows_in_text == everything.n_windows
    assert some.n_windows == [MOST_WINDOWS, 1]
    assert some.n_windows_in_text[0] > MOST_WINDOWS
    assert model.answer(QUESTION, text) == some.answers[0]
    assert model.answer(QUESTION, text, read_all=True) == everything.answers[0]
