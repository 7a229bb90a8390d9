"""Limits of a model: long answers and questions, and scripts that its tokenizer does not know."""

from dataclasses import replace

import pytest
from made_tokenizers import byte_pairs

from qa.data.squad import Answer, Example
from qa.models.pretrained import embedded_folder
from qa.text.features import make_windows
from qa.text.limits import beyond_limits, long_answers
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

CONTEXT = "The unbelievably overcomplicated rule is: wash, dry, fold and iron each shirt, then hang it up."


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer(embedded_folder())


def ask(*answers):
    found = tuple(Answer(text, CONTEXT.index(text)) for text in answers)
    return Example("q", "t", CONTEXT, "What is the rule?", found, not answers)


@pytest.mark.parametrize("answer", ["wash, dry, fold", "unbelievably overcomplicated", CONTEXT])
def test_an_answer_is_long_by_its_tokens(tokenizer, answer):
    example = ask(answer)
    (window,) = make_windows([example], tokenizer, QASettings())
    n_tokens = window.end_position - window.start_position + 1
    assert long_answers([example], tokenizer, QASettings(max_answer_length=n_tokens)) is None
    line = long_answers([example, ask()], tokenizer, QASettings(max_answer_length=n_tokens - 1))
    assert line.startswith("1 of 1 ")
    assert f"more than {n_tokens - 1} tokens" in line


def test_a_character_may_be_several_tokens(tmp_path):
    byte_pairs(tmp_path)
    text = "天地玄黃宇宙洪荒日月盈昃辰宿列張"
    example = Example("q", "t", text, "何?", (Answer(text, 0),), False)
    settings = QASettings(max_answer_length=len(text) + 4)
    assert long_answers([example], load_tokenizer(tmp_path), settings).startswith("1 of 1 ")


def test_a_question_with_one_short_answer_can_be_answered(tokenizer):
    assert long_answers([ask(CONTEXT, "fold")], tokenizer, QASettings(max_answer_length=2)) is None


def test_questions_that_are_cut_and_a_script_that_is_unknown_are_said(tokenizer):
    settings = QASettings(max_question_length=3)
    known = [replace(ask(), question="who is it ?"), replace(ask(), question="who is ?")]
    (line,) = beyond_limits(known, tokenizer, settings)
    assert line.startswith("1 of 2 questions have more than 3 tokens")
    thai = [Example("t", "", "กรุงเทพฯเป็นเมืองหลวง", "?", (), True)]
    (line,) = beyond_limits([*thai, *thai], tokenizer, QASettings())
    assert line.startswith("100% of the passages' words are unknown")
    chat = [Example("c", "", "see you \U0001f600 \u2713 \u2610 \U0001f680 soon", "?", (), True)]
    assert list(beyond_limits(chat, tokenizer, QASettings())) == []
