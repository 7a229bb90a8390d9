"""Added questions: unanswerable by construction, traceable to their source, the same for the same seed; the
rest untouched."""

import random
from dataclasses import replace

import pytest
from comparisons import write_examples

from qa.base.errors import OptionError, SquadFormatError
from qa.data.augment.augment import (
    AugmentOptions,
    alike,
    augment,
    holds_answer,
    replace_noun,
    swap,
    write_augmented,
)
from qa.data.augment.nouns import nouns
from qa.data.squad import Answer, Example, read_squad

CASTLE = (
    "The chapel was built by monks in 1190. The castle is above the harbour, and the Duke of Riga lived "
    "there. Its chapels are ruins."
)
RIVER = "The river floods in March. Farmers keep goats on its banks."


def example(question, answer, context=CASTLE, title="Castle", qid="q1"):
    return Example(qid, title, context, question, (Answer(answer, context.index(answer)),), False)


def run(tmp_path, name, **options):
    out = tmp_path / name
    return write_augmented(AugmentOptions(out=out, **options)), read_squad(out), out


def test_real_questions_are_kept_and_added_ones_are_as_told(tmp_path, small_squad_v2):
    before = read_squad(small_squad_v2)
    added, after, _ = run(tmp_path, "out.json", data=str(small_squad_v2), share=0.5, seed=3)
    originals = {e.id: e for e in before}
    assert [e for e in after if e.id in originals] == before
    new = {e.id: e for e in after if e.id not in originals}
    assert set(new) == {a.example.id for a in added}
    assert sum(a.kind == "swapped" for a in added) == 10
    assert sum(a.kind == "noun" for a in added) > 5
    assert len({a.source.id for a in added}) == len(added)
    for a in added:
        made = new[a.example.id]
        source = originals[a.source.id]
        assert made.is_impossible
        assert made.answers == ()
        assert source.answers
        if a.kind == "swapped":
            assert (made.id, made.question) == (f"{source.id}-swapped", source.question)
            assert made.title != source.title
            assert not holds_answer(made.context, source)
        else:
            assert (made.id, made.context) == (f"{source.id}-noun", source.context)
            assert a.old in source.question
            assert a.new in made.context
            asked = made.question.replace(a.new, a.old)
            assert asked.replace(" an ", " a ") == source.question.replace(" an ", " a ")
    log = (tmp_path / "out.json.added.tsv").read_text(encoding="utf-8").splitlines()
    assert log[0].split("\t") == ["id", "kind", "source", "old", "new", "question"]
    assert [line.split("\t")[0] for line in log[1:]] == [a.example.id for a in added]


def test_same_seed_same_file_other_seed_other_file(tmp_path, small_squad_v2):
    files = [
        run(tmp_path, f"{i}.json", data=str(small_squad_v2), seed=seed)[2].read_bytes()
        for i, seed in enumerate([5, 5, 6])
    ]
    assert files[0] == files[1] != files[2]


def test_noun_is_replaced_by_one_from_a_sentence_without_the_answer():
    questions = set()
    for seed in range(20):
        added = replace_noun(example("Who built the chapel?", "monks"), nouns(CASTLE), random.Random(seed))
        questions.add((added.example.question, added.old, added.new))
    # not chapels (alike), ruins (plural), Duke or Riga (names), monks or 1190 (the answer's sentence)
    assert questions == {
        ("Who built the castle?", "chapel", "castle"),
        ("Who built the harbour?", "chapel", "harbour"),
    }


def test_noun_is_not_replaced_by_one_of_the_question():
    asked = example("Who built the chapel beside the castle?", "monks")
    questions = {
        replace_noun(asked, nouns(CASTLE), random.Random(seed)).example.question for seed in range(20)
    }
    assert questions == {
        "Who built the harbour beside the castle?",
        "Who built the chapel beside the harbour?",
    }


def test_article_fits_its_new_noun():
    context = "A guard watches the tower all night. In the yard an oven is lit."
    asked = example("Who watches a tower?", "A guard", context)
    found = {replace_noun(asked, nouns(context), random.Random(seed)).example.question for seed in range(9)}
    assert found == {"Who watches an oven?", "Who watches a yard?"}


@pytest.mark.parametrize(
    "question",
    [
        "Which chapel is old?",  # what is asked for
        "What is the name of it?",  # vague
        "Who built the tower?",  # not in the passage
        "Is the chapel a chapel?",  # twice
    ],
)
def test_questions_without_a_noun_to_replace_are_left_out(question):
    assert replace_noun(example(question, "monks"), nouns(CASTLE), random.Random(0)) is None


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("bridge", "bridges", True),
        ("Slavic", "East Slavs", True),
        ("Schnellweg", "Messeschnellweg", True),
        ("Washington University", "WUSTL", True),
        ("castle", "harbour", False),
        ("Poland", "Peru", False),
    ],
)
def test_nouns_that_may_mean_one_thing(one, other, expected):
    assert alike(one, other) == alike(other, one) == expected


def test_swap_avoids_its_own_article_and_passages_with_the_answer():
    passages = [("Castle", "Nothing here."), ("Convents", "There, the Monks, too."), ("River", RIVER)]
    for seed in range(10):
        added = swap(example("Who built the chapel?", "monks"), passages, random.Random(seed))
        assert (added.example.context, added.old, added.new) == (RIVER, "Castle", "River")
    assert swap(example("Who built the chapel?", "monks"), passages[:2], random.Random(0)) is None


def test_what_is_added_keeps_its_category():
    source = replace(example("Who built the chapel?", "monks"), category="buildings")
    swapped = swap(source, [("River", RIVER)], random.Random(0))
    with_other_noun = replace_noun(source, nouns(CASTLE), random.Random(0))
    assert [added.example.category for added in (swapped, with_other_noun)] == ["buildings"] * 2


def test_copies_are_not_added_to(tmp_path):
    """A changed copy would be held out apart from what it was copied from."""
    source = example("Who built the chapel?", "monks")
    path = write_examples(tmp_path / "in.json", [source, replace(source, id="c", copy_of=source.id)])
    with pytest.raises(SquadFormatError, match=r"in\.json: 1 questions are copies .*: c;"):
        run(tmp_path, "out.json", data=str(path), share=1.0)


def test_answers_are_compared_as_whole_words():
    assert holds_answer("He saw THE Monks.", example("?", "monks"))
    assert not holds_answer("He saw monkshood.", example("?", "monks"))


def test_question_that_several_articles_are_asked_is_not_moved():
    data = [
        example("Who built it?", "monks"),
        example("Who built it?", "Farmers", RIVER, "River", "q2"),
        example("Who keeps goats?", "Farmers", RIVER, "River", "q3"),
    ]
    swapped = {a.example.id for seed in range(5) for a in augment(data, 1.0, seed) if a.kind == "swapped"}
    assert swapped == {"q3-swapped"}


def test_a_passage_without_a_title_is_an_article():
    data = [
        example("Who built it?", "monks", title=""),
        example("Who built it?", "Farmers", RIVER, "", "q2"),
        example("Who keeps goats?", "Farmers", RIVER, "", "q3"),
    ]
    swapped = [a.example for seed in range(5) for a in augment(data, 1.0, seed) if a.kind == "swapped"]
    assert {(e.id, e.title, e.context) for e in swapped} == {("q3-swapped", "", CASTLE)}


def test_fewer_than_wanted_is_said(tmp_path, capsys):
    asked = [example("Who built the chapel?", "monks"), example("When?", "1190", qid="q2")]
    path = write_examples(tmp_path / "in.json", asked)
    run(tmp_path, "out.json", data=str(path), share=1.0)
    assert "0 swapped between passages, 1 with one noun replaced, 2 wanted" in capsys.readouterr().out


def test_nothing_to_add_is_an_error_and_leaves_nothing(tmp_path):
    path = write_examples(tmp_path / "in.json", [example("When?", "1190")])
    with pytest.raises(SquadFormatError, match=r"in.json: no question could be added of 1 wanted"):
        run(tmp_path, "out.json", data=str(path), share=1.0)
    assert [p.name for p in tmp_path.iterdir()] == ["in.json"]


def test_options_are_checked(tmp_path):
    path = write_examples(tmp_path / "in.json", [example("When?", "1190")])
    for options, says in [
        ({"share": 0.0}, r"--share must be in \(0, 1\], got 0"),
        ({"share": float("nan")}, "--share must be in"),
        ({"seed": -1}, "--seed must be at least 0, got -1"),
        ({"out": path}, "is an input of this command"),
    ]:
        with pytest.raises(OptionError, match=says):
            AugmentOptions(**({"out": tmp_path / "out.json", "data": str(path)} | options))
