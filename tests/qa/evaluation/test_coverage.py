"""Coverage at 80 % accuracy, worked by hand."""

import pytest

from qa.data.squad import Answer, Example
from qa.evaluation.coverage import coverage
from qa.text.answers import Candidate, Prediction
from qa.text.settings import Calibration, QASettings

ASKED = Example("a", "", "x y", "?", (Answer("x", 0),), False)
UNANSWERABLE = Example("n", "", "x y", "?", (), True)
SETTINGS = QASettings(null_threshold=0.0, strict_threshold=0.0, calibration=Calibration(1.0, 0.0))


def result(kind, null_difference):
    """A question and its best candidate: right, wrong, asked in vain, or none; the lower the surer."""
    if kind == "none":
        return ASKED, Prediction((), 0.0)
    start = 0 if kind == "right" else 2
    prediction = Prediction((Candidate(0.0, start, start + 1, share=1.0),), null_difference)
    return UNANSWERABLE if kind == "vain" else ASKED, prediction


@pytest.mark.parametrize(
    ("kinds", "differences", "wanted"),
    [
        # 4 of 4, 4 of 5, then 4 of 6: five of six are answered, also those that the threshold declines.
        (["right"] * 4 + ["wrong", "vain"], [-3, -2, 1, 2, 3, 4], 500 / 6),
        # The surest is wrong: 4 of 5 are right only at the fifth.
        (["vain", *["right"] * 4, "none"], [-9, -3, -2, -1, 0, 0], 500 / 6),
        # Of equals all or none are answered: 1 of 1, then 2 of 3.
        (["right", "right", "wrong"], [-3, 1, 1], 100 / 3),
        (["wrong", "right"], [-3, 1], 0.0),
        (["none"], [0], 0.0),
    ],
)
def test_coverage(kinds, differences, wanted):
    examples, predictions = zip(*map(result, kinds, differences), strict=True)
    assert coverage(examples, predictions, SETTINGS) == pytest.approx(wanted)
    assert coverage(examples, predictions, QASettings(null_threshold=0.0)) == pytest.approx(wanted)
