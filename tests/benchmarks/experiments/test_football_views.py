"""The football tables against numbers worked by hand."""

import pytest

from benchmarks.experiments.base import QuestionScores
from benchmarks.experiments.football_views import FootballResults, comparison_table, comparisons, main_table
from qa.data.squad import Answer, Example

# Two with an answer and one without are Simple, one of each Multiple, one without an answer has no category
# of its own.
SORTS = [
    ("Simple", True),
    ("Simple", True),
    ("Simple", False),
    ("Multiple", True),
    ("Multiple", False),
    ("-", False),
]
EXAMPLES = [
    Example(str(i), "t", "Ada scored.", "Who?", (Answer("Ada", 0),) if has else (), not has, category)
    for i, (category, has) in enumerate(SORTS)
]


def scores(exact, f1):
    return QuestionScores(
        "b", "d", *({str(i): value for i, value in enumerate(values)} for values in (exact, f1))
    )


MIXED = scores([1, 0, 1, 0, 0, 1], [1, 0.5, 1, 0.25, 0, 1])


def results(found, lengths=(384, 512), examples=EXAMPLES):
    return FootballResults(lengths, found, examples, ["a condition"], ["football-512: failed"])


def test_categories_by_hand():
    assert MIXED.by_category(EXAMPLES) == {
        "-": {"exact": 100, "f1": 100, "total": 1},
        "Multiple": {"exact": 0, "f1": 12.5, "total": 2},
        "Simple": {"exact": pytest.approx(200 / 3), "f1": pytest.approx(250 / 3), "total": 3},
    }


def test_a_line_shows_answerable_and_not_apart_and_what_is_missing():
    table = main_table(results({("squad", 384): MIXED}))
    assert tuple(table.headings) == (
        "trained on",
        "tokens",
        "F1",
        "EM",
        "Ans F1",
        "Ans EM",
        "No Ans F1 (= EM)",
        "Simple (3)",
        "Multiple (2)",
        "- (1)",
    )
    # F1: 3.75 of 6, 1.75 of the 3 with an answer, 2 of the 3 without; EM: 3 of 6, 1 of 3.
    assert tuple(table.cells[0]) == (
        "SQuAD",
        "384",
        "62.50",
        "50.00",
        "58.33",
        "33.33",
        "66.67",
        "83.33",
        "12.50",
        "100.00",
    )
    assert len(table.cells) == 6
    assert set(table.cells[1][2:]) == {"–"}
    assert "the 3 questions with an answer; No Ans: the 3 without" in table.footnotes[0]
    assert table.footnotes[-2:] == ("a condition", "football-512: failed")


def test_where_every_question_has_an_answer_there_is_no_figure_for_those_without():
    table = main_table(results({("squad", 384): MIXED}, examples=[e for e in EXAMPLES if e.answers]))
    assert tuple(table.cells[0][2:7]) == ("58.33", "33.33", "58.33", "33.33", "–")


def test_differences_are_those_of_starts_and_of_lengths():
    right, half, wrong = (scores([v] * 6, [v] * 6) for v in (1.0, 0.5, 0.0))
    found = {
        ("squad", 384): half,
        ("squad", 512): half,
        ("football", 384): wrong,
        ("football", 512): half,
        ("squad-football", 384): right,
    }
    expected = {
        "SQuAD first - football alone, 384 tokens": 100,
        "512 - 384 tokens, SQuAD": 0,
        "512 - 384 tokens, football": 50,
    }
    assert {what: one.mean for what, one in comparisons(results(found))} == expected
    table = comparison_table(results(found))
    words = {cells[0]: cells[-1] for cells in table.cells}
    assert words["512 - 384 tokens, SQuAD"] == "within the noise of questions"
    assert words["512 - 384 tokens, football"] == "exceeds the noise of questions; seeds not tried"
    assert "6 questions on 1 reports" in table.footnotes[1]
    assert comparison_table(results({("squad", 384): half})) is None


def test_lengths_are_compared_with_the_shortest_whatever_their_order():
    found = {("football", 512): scores([1] * 6, [1] * 6), ("football", 384): scores([0] * 6, [0] * 6)}
    assert [(what, one.mean) for what, one in comparisons(results(found, (512, 384)))] == [
        ("512 - 384 tokens, football", 100)
    ]
