"""What is held out for the no-answer threshold: whole articles or passages, about a twentieth, never all."""

from itertools import pairwise

import pytest

from qa.bundle import HELD_OUT
from qa.squad import Answer, Example, read_squad
from qa.threshold import HELD_OUT_QUESTIONS, hold_out, save_held_out


def questions(n_articles, n_passages, n_asked, answerable=False):
    """In order; every second without an answer, unless all are answerable."""
    return [
        Example(f"{a}-{p}-{q}", f"Title {a}", f"Passage {a}-{p}", "?", (Answer("P", 0),) if answerable or q % 2 else (), False)
        for a in range(n_articles) for p in range(n_passages) for q in range(n_asked)
    ]  # fmt: skip


def test_questions_that_all_have_answers_need_no_threshold():
    asked = questions(40, 2, 3, answerable=True)
    assert hold_out(asked) == (asked, [])


def test_the_last_articles_are_held_out_whether_or_not_questions_say_that_they_are_impossible():
    asked = questions(40, 2, 3)
    train, held = hold_out(asked)
    assert train + held == asked
    assert {e.title for e in held} == {"Title 38", "Title 39"}  # 12 of 240


@pytest.mark.parametrize(("n_articles", "n_passages"), [(1, 40), (2, 20)])
def test_of_few_articles_the_last_passages_are_held_out(n_articles, n_passages):
    asked = questions(n_articles, n_passages, 3)
    train, held = hold_out(asked)
    assert train + held == asked
    assert len(held) == 6
    assert len({e.context for e in held}) == 2


def test_no_part_is_held_out_that_is_far_too_large():
    asked = [one for n, size in enumerate((300, 20, 300, 300)) for one in questions_on(f"Passage {n}", size)]
    assert {e.context for e in hold_out(asked)[1]} == {"Passage 1"}
    large = [one for n, size in enumerate((50, 40, 60)) for one in questions_on(f"Passage {n}", size)]
    assert {e.context for e in hold_out(large)[1]} == {"Passage 1"}, "there is nothing smaller"


def questions_on(passage, n):
    return [Example(f"{passage}-{i}", "", passage, "?", (Answer("P", 0),) if i % 2 else (), False) for i in range(n)]


def test_the_only_passage_stays_to_train_on():
    asked = questions(1, 1, 4)
    assert hold_out(asked) == (asked, [])


def test_those_kept_with_a_bundle_come_from_all_over_the_held_out(tmp_path):
    held = [Example(f"{i}", "Title", "Passage", "?", (), True) for i in range(2 * HELD_OUT_QUESTIONS - 1)]
    save_held_out(held, tmp_path)
    places = [int(example.id) for example in read_squad(tmp_path / HELD_OUT)]
    assert len(places) == HELD_OUT_QUESTIONS
    assert {b - a for a, b in pairwise(places)} == {2}
    assert places[-1] == len(held) - 1
