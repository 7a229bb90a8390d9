"""Decoding on hand-made logits: ties, order, length limit, max context, joined windows, no answer."""

import json
import math

import numpy as np
import pytest
from places import ROOT

from qa.base.errors import ProbeError
from qa.text.answers import Candidate, Prediction, decode, window_candidates
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
    w = window()
    found = window_candidates(w, *logits(w, [3, 2, 1, 0, 0], [0, 0, 1, 2, 3]), QASettings(n_best=2))
    assert {(c.start, c.end) for c in found} == {(0, 9), (0, 7), (2, 9), (2, 7)}


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
    prediction = decode([w := window()], [logits(w, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5])], QASettings(n_best=4))
    scores = [c.score for c in prediction.candidates]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)


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


FIRST = Candidate(math.log(3), 0, 2)
SECOND = Candidate(0.0, 4, 6)


@pytest.mark.parametrize(
    ("null_score", "threshold", "wanted"),
    [
        (0.0, None, [(FIRST, 3 / 4), (SECOND, 1 / 4)]),
        (1.5 + math.log(2), 1.5, [(FIRST, 3 / 6), (None, 2 / 6), (SECOND, 1 / 6)]),
        (1.5 + math.log(4), 1.5, [(None, 4 / 8), (FIRST, 3 / 8), (SECOND, 1 / 8)]),
    ],
    ids=["without threshold", "between", "first"],
)
def test_options_share_the_softmax_and_begin_with_the_best(null_score, threshold, wanted):
    prediction = Prediction((FIRST, SECOND), null_score)
    options = prediction.options(threshold)
    assert [option for option, _ in options] == [option for option, _ in wanted]
    assert [share for _, share in options] == pytest.approx([share for _, share in wanted])
    assert options[0][0] == prediction.best(threshold)


def test_on_the_threshold_the_candidate_stands_before_no_answer():
    candidate = Candidate(1.0, 0, 2)
    assert Prediction((candidate,), 2.5).options(1.5) == [(candidate, 0.5), (None, 0.5)]


@pytest.mark.parametrize("scale", [1000.0, -1000.0])
def test_options_of_large_scores_are_finite(scale):
    prediction = Prediction((Candidate(scale, 0, 1), Candidate(scale - 2000, 0, 2)), scale)
    assert [share for _, share in prediction.options(0.0)] == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("threshold", [None, -3.0])
def test_without_a_candidate_no_answer_is_the_only_option(threshold):
    assert Prediction((), 2.0).options(threshold) == [(None, 1.0)]


# exp(-(1 + 3) / 2) = 0.1353, so no answer has 1 / 1.1353 = 0.8808; the candidates share 0.1192 as 3 to 1.
CALIBRATION = Calibration(2.0, 3.0)


@pytest.mark.parametrize(
    ("threshold", "wanted"),
    [
        (None, [(FIRST, 0.0894), (SECOND, 0.0298)]),
        (0.5, [(None, 0.8808), (FIRST, 0.0894), (SECOND, 0.0298)]),
        (1.5, [(FIRST, 0.0894), (None, 0.8808), (SECOND, 0.0298)]),
    ],
    ids=["answering", "declined", "answered though unlikely"],
)
def test_calibrated_options_begin_with_the_best_whatever_its_probability(threshold, wanted):
    prediction = Prediction((FIRST, SECOND), FIRST.score + 1)
    options = prediction.options(threshold, CALIBRATION)
    assert [option for option, _ in options] == [option for option, _ in wanted]
    assert [p for _, p in options] == pytest.approx([p for _, p in wanted], abs=1e-4)
    assert options[0][0] == prediction.best(threshold)


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
    rows = json.loads((ROOT / "tests" / "golden" / "calibration.json").read_text())
    for row in rows:
        settings = QASettings.from_json(json.dumps(row["settings"]), "row")
        candidates = tuple(Candidate(score, i, i + 1) for i, score in enumerate(row["scores"]))
        prediction = Prediction(candidates, row["null_score"])
        options = dict(prediction.options(None, settings.calibration))
        assert [options[c] for c in candidates] == pytest.approx(row["probabilities"], abs=1e-14)
        for mode, answered in row["answered"].items():
            assert (prediction.best(settings.in_mode(mode).null_threshold) is not None) == answered
