"""Metrics against scores of the official script on published systems' predictions, and on hand-worked
cases.
"""

import json

import pytest
from places import GOLDEN

from qa.data.datasets import resolve
from qa.data.metrics import best_f1_threshold, evaluate_predictions, normalize_answer, token_f1
from qa.data.squad import Answer, Example, read_squad

SQUAD_PREDICTIONS = json.loads((GOLDEN / "squad_predictions.json").read_text(encoding="utf-8"))


def example(qid: str, *answers: str) -> Example:
    return Example(qid, "t", "", "?", tuple(Answer(a, 0) for a in answers), not answers)


@pytest.mark.parametrize("system", sorted(SQUAD_PREDICTIONS))
def test_scores_equal_the_official_script(system):
    golden = SQUAD_PREDICTIONS[system]
    scores = evaluate_predictions(read_squad(resolve("embedded", "dev")), golden["predictions"])
    assert scores["exact"] == golden["exact"]
    assert scores["f1"] == pytest.approx(golden["f1"], rel=1e-15)
    assert scores["total"] == 503
    assert scores.get("missing", 0) == 503 - golden["n_predictions"]


def test_normalization_drops_case_punctuation_articles_and_spaces():
    assert normalize_answer("The  Cat's (an) a-b,  theme") == "cats ab theme"


def test_f1_counts_repeated_tokens_once_each():
    # gold: new york new; predicted: new new new york -> 3 shared of 3 and of 4
    assert token_f1("new York New", "new new new york") == pytest.approx(2 * 1.0 * 0.75 / 1.75)


def test_articles_alone_count_as_no_answer():
    assert token_f1("the", "a") == 1.0
    assert token_f1("the", "cat") == 0.0


def test_has_and_no_answer_are_reported_apart():
    examples = [example("a", "red fox"), example("b", "blue"), example("c")]
    scores = evaluate_predictions(examples, {"a": "fox", "b": "", "c": ""})
    assert (scores["HasAns_total"], scores["NoAns_total"]) == (2, 1)
    assert scores["HasAns_f1"] == pytest.approx(100 * (2 / 3) / 2)
    assert scores["NoAns_exact"] == 100.0
    assert scores["f1"] == pytest.approx(100 * (2 / 3 + 0 + 1) / 3)


def test_threshold_sweep_finds_the_best_cut():
    examples = [example("a", "x"), example("b", "y"), example("c"), example("d")]
    answers = {"a": "x", "b": "wrong", "c": "z", "d": "z"}
    differences = {"a": -3.0, "b": 5.0, "c": -1.0, "d": 2.0}
    # answering only "a" is right for a, c and d: 3 of 4
    assert best_f1_threshold(examples, answers, differences) == (75.0, -3.0)


@pytest.mark.parametrize("lowest", [-3.0, 1.0])
def test_where_no_answer_helps_the_best_threshold_declines_all(lowest):
    examples = [example("a", "x"), example("b")]
    differences = {"a": lowest, "b": lowest + 1}
    best, threshold = best_f1_threshold(examples, {"a": "wrong", "b": "z"}, differences)
    assert (best, threshold <= 0) == (50.0, True)
    assert all(difference > threshold for difference in differences.values())
