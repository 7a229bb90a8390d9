"""Probabilities that hold: the fit finds how they were made, and the error is that of worked values."""

import numpy as np
import pytest

from qa.data.squad import Answer, Example
from qa.evaluation.calibration import (
    calibration_error,
    calibration_scores,
    equal_groups,
    fit_calibration,
    is_right,
    reliability,
)
from qa.text.answers import Candidate, Prediction
from qa.text.settings import Calibration, QASettings

ASKED = Example("a", "", "x y", "?", (Answer("x", 0),), False)
UNANSWERABLE = Example("n", "", "x y", "?", (), True)


def drawn(calibration, n, seed=0):
    """Questions whose truth is drawn from the probabilities of `calibration`."""
    rng = np.random.default_rng(seed)
    examples = []
    predictions = []
    for difference, share in zip(rng.normal(-1, 6, n), rng.beta(3, 1, n), strict=True):
        prediction = Prediction((Candidate(0.0, 0, 1, share),), difference)
        none = prediction.no_answer_probability(None, calibration)
        right = rng.random() < share
        answers = () if rng.random() < none else (Answer("x", 0),) if right else (Answer("y", 2),)
        examples.append(Example(str(len(examples)), "", "x y", "?", answers, not answers))
        predictions.append(prediction)
    return examples, predictions


def balanced(examples, predictions):
    """Equal numbers of questions with and without an answer."""
    pairs = list(zip(examples, predictions, strict=True))
    kinds = [[pair for pair in pairs if pair[0].is_impossible == impossible] for impossible in (True, False)]
    n = min(map(len, kinds))
    return zip(*(pair for kind in kinds for pair in kind[:n]), strict=True)


@pytest.mark.parametrize("made_by", [Calibration(4.0, -2.5), Calibration(1.5, 3.0)])
def test_the_fit_finds_the_temperature_and_the_offset_that_questions_were_drawn_with(made_by):
    examples, predictions = drawn(made_by, 4000)
    n_unanswerable = sum(e.is_impossible for e in examples)
    # Equal weight for both kinds moves the odds of "no answer" by the odds of an answer (Bayes).
    offset = made_by.offset + made_by.temperature * np.log((len(examples) - n_unanswerable) / n_unanswerable)
    found = fit_calibration(examples, predictions, equal_groups(examples))
    assert found.temperature == pytest.approx(made_by.temperature, rel=0.15)
    assert found.offset == pytest.approx(offset, abs=0.35)


def test_the_fit_does_not_depend_on_the_share_of_unanswerable_questions():
    examples, predictions = drawn(Calibration(4.0, -2.5), 4000)
    once = fit_calibration(examples, predictions, equal_groups(examples))
    more = [pair for pair in zip(examples, predictions, strict=True) if pair[0].is_impossible] * 3
    examples, predictions = [*examples, *(e for e, _ in more)], [*predictions, *(p for _, p in more)]
    thrice = fit_calibration(examples, predictions, equal_groups(examples))
    assert (thrice.temperature, thrice.offset) == pytest.approx((once.temperature, once.offset), abs=0.02)


def test_calibrated_probabilities_of_other_questions_hold_and_softmax_scores_do_not():
    examples, predictions = balanced(*drawn(Calibration(4.0, -2.5), 2000))
    calibration = fit_calibration(examples, predictions, equal_groups(examples))
    settings = QASettings(null_threshold=2.5, calibration=calibration)
    examples, predictions = balanced(*drawn(Calibration(4.0, -2.5), 4000, seed=1))
    scores = calibration_scores(examples, predictions, settings)
    assert scores["calibration_error"] < 3
    assert scores["uncalibrated_calibration_error"] > 8
    assert sum(n for _, _, n in scores["reliability"]) == len(examples)


def test_an_answer_is_right_where_it_shares_a_character_with_a_gold_answer_or_equals_it():
    text = "A cat, a dog and the cat"
    asked = Example("a", "", text, "?", (Answer("a dog", 7), Answer("dog", 9)), False)
    cat = Example("c", "", text, "?", (Answer("cat", 2),), False)

    def given(answer, start):
        return Candidate(0.0, start, start + len(answer), share=1.0)

    right = [(asked, "a", 7), (asked, "dog and", 9), (asked, text, 0), (cat, "cat", 2), (cat, "the cat", 17)]
    wrong = [(asked, "A cat, ", 0), (asked, " and", 12), (cat, "and the cat", 13)]
    assert [is_right(example, given(*answer)) for example, *answer in right] == [True] * len(right)
    assert [is_right(example, given(*answer)) for example, *answer in wrong] == [False] * len(wrong)
    assert not is_right(cat, None)
    assert is_right(UNANSWERABLE, None)
    assert not is_right(UNANSWERABLE, given("x", 0))


def test_without_a_calibration_there_is_nothing_to_say():
    assert (
        calibration_scores([ASKED], [Prediction((Candidate(0.0, 0, 1, share=1.0),), 0.0)], QASettings()) == {}
    )


def test_the_error_is_the_mean_gap_of_the_bins():
    """Two bins: 0.95 is right in 3 of 4 (gap 0.2), 0.5 in 1 of 1 (gap 0.5)."""
    probabilities = np.array([0.95, 0.95, 0.95, 0.95, 0.5])
    right = np.array([True, True, True, False, True])
    assert reliability(probabilities, right) == [(0.5, 1.0, 1), (pytest.approx(0.95), 0.75, 4)]
    assert calibration_error(probabilities, right) == pytest.approx(100 * (4 * 0.2 + 0.5) / 5)
    assert reliability(np.array([1.0]), np.array([True])) == [(1.0, 1.0, 1)]


def test_questions_without_a_candidate_are_left_out_of_the_fit():
    assert fit_calibration([UNANSWERABLE], [Prediction((), 0.0)], np.ones(1)) == Calibration(1.0, 0.0)
