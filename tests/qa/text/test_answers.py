"""Decoding on hand-made logits: ties, order, length limit, max context, groups, joined windows, no answer."""

import json
import math

import numpy as np
import pytest
from places import GOLDEN
from recipe_scripts import script_at

from qa.base.errors import ProbeError
from qa.text.answers import Candidate, Prediction, decode
from qa.text.features import Window
from qa.text.settings import Calibration, QASettings


def window(n=5, begin=3, max_context=None, first_char=0):
    """A window of n one-letter context tokens, one character apart."""
    starts = np.arange(n) * 2 + first_char
    keep = np.ones(n, bool) if max_context is None else np.array(max_context)
    return Window(0, np.zeros(begin + n + 1, np.int32), begin, starts, starts + 1, keep, 0, 0)


def logits(window, start, end, cls=(0.0, 0.0)):
    """Logits with the given values on the context, `cls` on [CLS], and a lure of 99 on question and [SEP]."""
    result = []
    for values, null in ((start, cls[0]), (end, cls[1])):
        row = np.full(len(window.input_ids), 99.0, np.float32)
        row[0], row[window.context_begin : window.context_begin + len(values)] = null, values
        result.append(row)
    return result[0], result[1]


def best(w, start, end, **settings):
    prediction = decode([w], [logits(w, start, end)], QASettings(**settings))
    c = prediction.candidates[0]
    return c.start, c.end, c.score


def test_best_span_is_the_largest_sum():
    assert best(window(), [0, 3, 0, 0, 0], [0, 0, 0, 2, 0]) == (2, 7, 5.0)


def test_end_before_start_is_never_an_answer():
    # start peaks at token 3, end at token 1; the best legal span is 3..3 or later
    assert best(window(), [0, 0, 0, 5, 0], [0, 5, 0, 1, 2]) == (6, 9, 7.0)


def test_ties_go_to_the_earlier_start_then_the_earlier_end():
    assert best(window(), [1, 1, 0, 0, 0], [0, 1, 1, 0, 0]) == (0, 3, 2.0)


def test_answers_longer_than_the_limit_are_left_out():
    assert best(window(), [5, 0, 0, 0, 0], [0, 1, 0, 0, 5], max_answer_length=2) == (0, 3, 6.0)


def test_span_starting_where_another_window_sees_more_is_left_out():
    w = window(max_context=[True, False, True, True, True])
    assert best(w, [0, 9, 1, 0, 0], [0, 0, 1, 0, 0]) == (4, 5, 2.0)


def test_only_the_n_best_starts_and_ends_are_paired():
    # Tokens 4 and 0 start, tokens 0 and 3 end: 4 is behind both, so 0-0 (2) is left, and 0-3 (2), but not 1-1.
    prediction = decode([w := window()], [logits(w, [1, 0, 0, 0, 9], [1, 0, 0, 1, 0])], QASettings(n_best=2))
    assert [(c.start, c.end, c.score) for c in prediction.candidates] == [(0, 1, 2.0)]


def groups(prediction):
    return [(c.start, c.end, c.share) for c in prediction.candidates]


def logs(*weights):
    return [math.log(weight) for weight in weights]


def test_an_answer_has_the_share_of_all_spans_that_overlap_with_it():
    """Weights of the spans by their tokens: 0-0 4, 0-1 12, 1-1 3, 1-2 1, 2-2 2, 2-3 4, 3-3 2; together 28.

    0-1 is the best, with 0-0, 1-1 and 1-2. Of the others 2-3 is the best, with 2-2 and 3-3.
    """
    w = window(n=4)
    pair = logits(w, logs(4, 1, 2, 1), logs(1, 3, 1, 2))
    settings = QASettings(max_answer_length=2)
    expected = [(0, 3, pytest.approx(20 / 28)), (4, 7, pytest.approx(8 / 28))]
    assert groups(decode([w], [pair], settings)) == expected
    # Spans that are not tried as the best one count too: here only token 0 starts one, and only token 1 ends it.
    assert groups(decode([w], [pair], QASettings(max_answer_length=2, n_best=1))) == expected[:1]


def test_a_group_has_spans_of_every_window():
    """The first window owns tokens 0 and 1, the second one 2 and 3.

    Weights: 0-0 1, 0-1 1, 1-1 2, 1-2 6; 2-2 8, 2-3 8, 3-3 1; together 27. 2-2 is the best (before 2-3), with
    2-3 and, of the first window, 1-2. 1-1 is in no group: in its window 1-2 is better, which is no answer.
    """
    a = window(n=3, max_context=[True, True, False])
    b = window(n=3, max_context=[False, True, True], first_char=2)
    pairs = [
        logits(a, logs(1, 2, 1000), logs(1, 1, 3)),
        logits(b, logs(1000, 8, 1), logs(1000, 1, 1)),
    ]
    assert groups(decode([a, b], pairs, QASettings(max_answer_length=2))) == [
        (4, 5, pytest.approx(22 / 27)),
        (0, 1, pytest.approx(2 / 27)),
        (6, 7, pytest.approx(1 / 27)),
    ]


def test_behind_the_best_the_largest_share_comes_first():
    """Weights, with a token a span: 5, 4, 3 and 3; the last two tokens have the same character."""
    w = window(n=4)
    w.char_starts[3], w.char_ends[3] = w.char_starts[2], w.char_ends[2]
    pair = logits(w, logs(5, 4, 3, 3), [0] * 4)
    assert groups(decode([w], [pair], QASettings(max_answer_length=1))) == [
        (0, 1, pytest.approx(5 / 15)),
        (4, 5, pytest.approx(6 / 15)),
        (2, 3, pytest.approx(4 / 15)),
    ]


def test_an_empty_token_overlaps_with_what_begins_there():
    """A SentencePiece model may write a token for a space, which is cut off."""
    w = window(n=2)
    w.char_ends[0] = w.char_starts[1] = w.char_starts[0]
    best_is_empty, best_is_not = ([5, 0], [5, 0]), ([0, 5], [0, 5])
    assert groups(decode([w], [logits(w, *best_is_empty)], QASettings())) == [(0, 0, 1.0)]
    assert groups(decode([w], [logits(w, *best_is_not)], QASettings())) == [(0, 3, 1.0)]


@pytest.mark.parametrize("scale", [1e37, -1e37])
def test_shares_of_large_logits_are_finite(scale):
    w = window(n=2)
    pair = logits(w, [scale, scale], [scale, scale])
    assert groups(decode([w], [pair], QASettings(max_answer_length=1))) == [(0, 1, 0.5), (2, 3, 0.5)]


def test_windows_are_joined_and_the_null_score_is_their_minimum():
    a = window()
    b = window(first_char=20)
    pairs = [
        logits(a, [1, 0, 0, 0, 0], [1, 0, 0, 0, 0], cls=(4, 4)),
        logits(b, [0, 6, 0, 0, 0], [0, 1, 0, 0, 0], cls=(1, 2)),
    ]
    prediction = decode([a, b], pairs, QASettings())
    assert (prediction.candidates[0].start, prediction.candidates[0].score) == (22, 7.0)
    assert prediction.null_score == 3.0
    assert prediction.null_difference == -4.0


def test_the_same_characters_seen_twice_are_one_answer_with_the_higher_score():
    a = window()
    b = window()
    prediction = decode([a, b], [logits(a, [1] * 5, [1] * 5), logits(b, [2] * 5, [1] * 5)], QASettings())
    spans = [(c.start, c.end) for c in prediction.candidates]
    assert len(spans) == len(set(spans))
    assert prediction.candidates[0].score == 3.0


def test_n_best_is_sorted_and_limited():
    settings = QASettings(n_best=4, max_answer_length=1)
    prediction = decode([w := window()], [logits(w, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5])], settings)
    assert [c.score for c in prediction.candidates] == [10.0, 8.0, 6.0, 4.0]


@pytest.mark.parametrize(("threshold", "answers"), [(None, True), (2.0, True), (1.999, False)])
def test_threshold_decides_strictly_above(threshold, answers):
    w = window()
    prediction = decode([w], [logits(w, [1, 0, 0, 0, 0], [1, 0, 0, 0, 0], cls=(2, 2))], QASettings())
    assert prediction.null_difference == 2.0
    assert (prediction.best(threshold) is not None) == answers


def test_empty_context_has_a_null_score_and_no_answer():
    w = window(n=0)
    prediction = decode([w], [logits(w, [], [], cls=(1, 2))], QASettings())
    assert prediction.candidates == ()
    assert prediction.null_score == 3.0
    assert prediction.best(None) is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("token", [0, -2], ids=["[CLS]", "a token of the context"])
def test_logits_that_are_no_numbers_give_no_answer(value, token):
    w = window()
    start, end = logits(w, [1, 0, 0, 0, 0], [1, 0, 0, 0, 0])
    padded = np.append(start, math.nan)  # what stands in padding is not looked at
    decode([w], [(padded, end)], QASettings())
    end[token] = value
    with pytest.raises(ProbeError, match=str(value)):
        decode([w], [(padded, end)], QASettings())


FIRST = Candidate(1.5, 0, 2, share=0.6)
SECOND = Candidate(0.0, 4, 6, share=0.3)


# exp(-(1 + 3) / 2) = 0.1353, so no answer has 1 / 1.1353 = 0.8808; the candidates have 0.6 and 0.3 of 0.1192.
CALIBRATION = Calibration(2.0, 3.0)


@pytest.mark.parametrize(
    ("null_difference", "threshold", "calibration", "wanted"),
    [
        (0.0, None, None, [(FIRST, 0.6), (SECOND, 0.3)]),
        # 1 / (1 + exp(-(difference - threshold))): 1 / (1 + 3), then 1 / (1 + 1 / 3)
        (1.5 - math.log(3), 1.5, None, [(FIRST, 0.45), (None, 0.25), (SECOND, 0.225)]),
        (1.5 + math.log(3), 1.5, None, [(None, 0.75), (FIRST, 0.15), (SECOND, 0.075)]),
        (1.5, 1.5, None, [(FIRST, 0.3), (None, 0.5), (SECOND, 0.15)]),
        (1000.0, 0.0, None, [(None, 1.0), (FIRST, 0.0), (SECOND, 0.0)]),
        (-1000.0, 0.0, None, [(FIRST, 0.6), (SECOND, 0.3), (None, 0.0)]),
        (1.0, None, CALIBRATION, [(FIRST, 0.0715), (SECOND, 0.0358)]),
        (1.0, 0.5, CALIBRATION, [(None, 0.8808), (FIRST, 0.0715), (SECOND, 0.0358)]),
        (1.0, 1.5, CALIBRATION, [(FIRST, 0.0715), (None, 0.8808), (SECOND, 0.0358)]),
    ],
)
def test_options_begin_with_the_best_whatever_its_probability(
    null_difference, threshold, calibration, wanted
):
    """The candidates share what no answer leaves."""
    prediction = Prediction((FIRST, SECOND), FIRST.score + null_difference)
    options = prediction.options(threshold, calibration)
    assert [option for option, _ in options] == [option for option, _ in wanted]
    assert [p for _, p in options] == pytest.approx([p for _, p in wanted], abs=1e-4)
    assert options[0][0] == prediction.best(threshold)


@pytest.mark.parametrize("threshold", [None, -3.0])
def test_without_a_candidate_no_answer_is_the_only_option(threshold):
    assert Prediction((), 2.0).options(threshold, None) == [(None, 1.0)]


@pytest.mark.parametrize("calibration", [None, CALIBRATION])
@pytest.mark.parametrize("threshold", [None, -2.0, 1.0, 5.0])
@pytest.mark.parametrize("null_score", [-1000.0, -1.0, 2.0, 1000.0])
def test_the_probability_of_the_best_is_that_of_the_first_option_also_when_shortened(
    calibration, threshold, null_score
):
    prediction = Prediction((FIRST, SECOND), null_score)
    expected = pytest.approx(prediction.options(threshold, calibration)[0][1])
    assert prediction.probability(threshold, calibration) == expected
    assert prediction.shortened().probability(threshold, calibration) == expected
    assert prediction.shortened().candidates == (FIRST,)
    assert Prediction((), null_score).shortened().probability(threshold, calibration) == 1.0


def test_recorded_probabilities_are_still_computed():
    """Java and JavaScript read the same rows."""
    recorder = script_at(GOLDEN / "record_calibration.py")
    for row in json.loads(recorder.OUT.read_bytes()):
        found = recorder.expected(row)
        for mode, wanted in row["modes"].items():
            assert found[mode]["answered"] == wanted["answered"]
            for name in ("no_answer", "probabilities"):
                assert found[mode][name] == pytest.approx(wanted[name], abs=1e-14)
