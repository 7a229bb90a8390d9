"""Questions as people type them and texts as they arrive on a phone: every label stays, and a seed repeats."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from comparisons import write_examples

from distill.unlabelled.make import UnlabelledOptions, add_unlabelled, with_added
from distill.unlabelled.manners import noisy, typed
from qa.base.errors import OptionError, SquadFormatError
from qa.data.datasets import resolve
from qa.data.squad import Answer, Example, read_squad
from qa.evaluation.threshold import hold_out

TEXT = "Price list\n- Adults: 7 euros\n- Children: 4 euros. Dogs stay outside. Ring Ms Adaeze for groups.\n"
COPIES = {"data": "everyday", "passages": 0, "typed": 1, "noisy": 1, "same_kind": 2}


def spans_of(text, *answers):
    return [(text.index(answer), text.index(answer) + len(answer)) for answer in answers]


def test_a_typed_question_is_one_of_three_kinds():
    question = "What is the price of a ticket for Children?"
    seen = {typed(question, random.Random(seed)) for seed in range(60)}
    plain = "what is the price of a ticket for children"
    assert {plain, "price ticket children"} < seen
    assert all(text == text.lower() and "?" not in text for text in seen)
    misspelt = seen - {plain, "price ticket children"}
    assert all(abs(len(text) - len(plain)) <= 1 for text in misspelt)


@pytest.mark.parametrize(
    ("question", "keywords"),
    [
        ("How much did the ferry cost in May?", "how much ferry cost may"),
        ("When was Will born?", "when will born"),
        ("May I ask. What is due?", "ask. due"),
    ],
)
def test_names_within_a_sentence_stay_in_keywords(question, keywords):
    assert keywords in {typed(question, random.Random(seed)) for seed in range(20)}


@pytest.mark.parametrize("question", ["", "?", "who?", "Is it?", "¿Dónde está?", "Why\n so?"])
def test_any_question_is_taken(question):
    for seed in range(20):
        assert typed(question, random.Random(seed)) or not question.strip("?")


def test_answers_stay_whatever_happens_to_the_text():
    answers = ("7 euros", "Dogs stay outside", "Ms Adaeze", "euros\n- Children")
    texts = set()
    for seed in range(200):
        text, spans = noisy(TEXT, spans_of(TEXT, *answers), random.Random(seed))
        texts.add(text)
        for answer, (start, end) in zip(answers, spans, strict=True):
            words = re.sub(r"[-*•]", "", text[start:end]).lower().split()
            assert words == re.sub("-", "", answer).lower().split()
    assert any("\n" not in text.strip() or text.count("\n") < TEXT.count("\n") for text in texts)
    assert any("•" in text for text in texts)
    assert any(text == text.lower() for text in texts)
    assert any("outside.\nRing" in text for text in texts)


def test_what_no_rule_changes_is_no_copy():
    passage = [Example("q", "t", "今天下雨。", "今天怎样?", (Answer("下雨", 2),), False)]
    options = UnlabelledOptions(out=Path("more.json"), passages=0, noisy=3)
    assert with_added([passage], options, None, "0") == [passage]


def test_typing_errors_are_rare_and_never_in_an_answer():
    text = "Somebody wrote several ordinary sentences about gardens. " * 40
    spans = [(0, 8)]
    changed = [noisy(text, spans, random.Random(seed))[0] for seed in range(40)]
    for other in changed:
        assert other[:8].lower() == "somebody"
        n = sum(a.lower() != b.lower() for a, b in zip(text.split(), other.split(), strict=True))
        assert n <= 0.05 * len(text.split())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("manners") / "more.json"
    add_unlabelled(UnlabelledOptions(out=out, **COPIES))
    return out


def test_each_question_has_its_copies_and_texts_of_its_kind(made):
    given = {e.id: e for e in read_squad(resolve("everyday", "train"))}
    examples = read_squad(made, unlabelled=True)
    copies = [e for e in examples if e.copy_of]
    assert len(copies) == 2 * len(given)
    for copy in copies:
        source = given[copy.copy_of]
        assert (len(copy.answers), copy.is_impossible) == (len(source.answers), source.is_impossible)
        assert (copy.context == source.context) == ("-typed" in copy.id)
        assert (copy.question == source.question) == (
            "-noisy" in copy.id
        ) or copy.question == copy.question.lower()
    asked = [e for e in examples if e.unlabelled]
    assert len(asked) == 2 * len(given)
    kinds = {e.context: e.category for e in given.values()}
    for e in asked:
        source = given[e.id.rpartition("-")[0]]
        assert kinds[e.context] == source.category
        assert e.context != source.context


def test_copies_of_held_out_questions_are_not_trained_on(made):
    train, held_out = hold_out(read_squad(made, unlabelled=True))
    ids = {e.id for e in held_out}
    assert ids
    assert not any(e.copy_of or e.unlabelled for e in held_out)
    assert not any(e.copy_of in ids or (e.unlabelled and e.id.rpartition("-")[0] in ids) for e in train)
    assert not {e.context for e in train} & {e.context for e in held_out}


def test_the_same_seed_gives_the_same_file(made, tmp_path):
    add_unlabelled(UnlabelledOptions(out=tmp_path / "again.json", **COPIES))
    assert (tmp_path / "again.json").read_bytes() == made.read_bytes()


@pytest.mark.parametrize("flag", ["typed", "noisy", "same_kind", "reworded"])
def test_copies_are_not_changed_again(flag, tmp_path):
    """Nothing says of a changed copy which question to hold out of training with it."""
    examples = read_squad(resolve("everyday", "train"))[:2]
    copy = replace(examples[0], id="c", copy_of=examples[0].id)
    data = write_examples(tmp_path / "copies.json", [*examples, copy])
    out = tmp_path / "o.json"
    with pytest.raises(SquadFormatError, match=rf"{data}: 1 questions .*: c;"):
        add_unlabelled(UnlabelledOptions(data=str(data), out=out, passages=0, **{flag: 1}))
    assert not out.exists()


def test_nothing_to_add_is_refused(tmp_path):
    with pytest.raises(OptionError, match=r"--passages.*--typed"):
        UnlabelledOptions(out=tmp_path / "o.json", passages=0)
