"""Questions without gold answers: how they are made, who takes them, and that only the teacher labels them."""

import json
import math
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from comparisons import write_examples
from tokenizers import Tokenizer
from tokenizers.models import WordPiece

from compress.options import PruneOptions
from compress.prune.prune import prune
from distill.options import DistillOptions, FinetuneOptions
from distill.train_on_gold import finetune
from distill.train_on_teacher import distil
from distill.training.losses import hard_loss
from distill.unlabelled.make import UnlabelledOptions, add_unlabelled
from distill.unlabelled.words import SimilarWords
from qa.base.errors import OptionError, SquadFormatError
from qa.data.datasets import resolve
from qa.data.squad import Answer, Example, read_squad
from qa.evaluation.threshold import hold_out
from qa.text.features import make_windows

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The questions of the excerpt's first six articles."""
    examples = read_squad(resolve("embedded", "train"))
    titles = list(dict.fromkeys(e.title for e in examples))[:6]
    path = tmp_path_factory.mktemp("source") / "six.json"
    return write_examples(path, [e for e in examples if e.title in titles])


@pytest.fixture(scope="module")
def options(source):
    """Ask for one other passage a question and one reworded copy a passage."""
    return {"data": str(source), "passages": 1, "reworded": 1, "share": 0.3}


@pytest.fixture(scope="module")
def made(options, tmp_path_factory):
    """The file that `options` make."""
    out = tmp_path_factory.mktemp("unlabelled") / "more.json"
    add_unlabelled(UnlabelledOptions(out=out, **options))
    return out


def test_every_question_meets_another_passage_of_its_article_and_reworded_words(source, made):
    given = {e.id: e for e in read_squad(source)}
    examples = read_squad(made, unlabelled=True)
    assert {e.id for e in examples if not e.unlabelled} == set(given)
    added = [e for e in examples if e.unlabelled]
    assert len(added) > len(given)
    n_words = 0
    n_changed = 0
    for example in added:
        source = given[example.id.rpartition("-")[0]]
        assert (example.title, example.question, example.answers) == (source.title, source.question, ())
        assert example.context != source.context
        if "-reworded" in example.id:
            pairs = list(zip(source.context.split(), example.context.split(), strict=True))
            n_words += len(pairs)
            n_changed += sum(a != b for a, b in pairs)
        else:
            assert example.context in {e.context for e in given.values() if e.title == source.title}
    assert 0.1 < n_changed / n_words < 0.3


def test_the_same_seed_gives_the_same_file_and_another_seed_another(made, options, tmp_path):
    add_unlabelled(UnlabelledOptions(out=tmp_path / "again.json", **options))
    assert (tmp_path / "again.json").read_bytes() == made.read_bytes()
    add_unlabelled(UnlabelledOptions(out=tmp_path / "other.json", **options, seed=1))
    assert (tmp_path / "other.json").read_bytes() != made.read_bytes()


def test_similar_words_are_the_nearest_by_cosine_and_keep_capitals():
    words = SimilarWords(["red", "blue", "train"], np.array([[1.0, 0.1], [2.0, 0.0], [0.0, 1.0]], np.float32))
    assert words.similar("red") == ["blue", "train"]
    changed = words.replace("Red is 42, red-ish", 1.0, random.Random(0))
    assert changed.split()[0] in ("Blue", "Train")
    assert "is 42," in changed
    assert words.replace("Red is 42", 1e-12, random.Random(0)) == "Red is 42"


def test_words_of_a_script_without_case_are_words():
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "كتاب", "مدرسة", "##ات", "The", "42"]
    tokenizer = Tokenizer(WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    model = SimpleNamespace(encoder=SimpleNamespace(words=lambda ids: torch.eye(len(pieces))[ids]))
    words = SimilarWords.of(model, tokenizer)
    assert words.words == ["كتاب", "مدرسة"]
    assert words.replace("كتاب", 1.0, random.Random(0)) == "مدرسة"
    none = Tokenizer(WordPiece({piece: i for i, piece in enumerate(pieces[:6])}, unk_token="[UNK]"))
    with pytest.raises(OptionError, match="--model"):
        SimilarWords.of(model, none)


def test_stages_without_a_teacher_refuse_such_a_file(made, make_bundle, tmp_path):
    with pytest.raises(SquadFormatError, match="unlabelled"):
        read_squad(made)
    with pytest.raises(SquadFormatError, match="unlabelled"):
        finetune(FinetuneOptions(model=str(make_bundle()), data=str(made), out=tmp_path / "o"))
    gold = {"alpha": 1, "hidden_weight": 0}
    with pytest.raises(SquadFormatError, match="unlabelled"):
        distil(DistillOptions(teacher=make_bundle(), data=str(made), out=tmp_path / "o", **gold))


@pytest.mark.parametrize("given", [{"share": 0.3}, {"model": Path("models/teacher")}])
def test_options_of_replaced_words_need_some(given, tmp_path):
    (name,) = given
    with pytest.raises(OptionError, match=f"--{name} needs --reworded"):
        UnlabelledOptions(out=tmp_path / "more.json", passages=1, **given)


def test_a_passage_without_a_title_is_an_article(tmp_path):
    passages = ["First text.", "Second text."]
    asked = [
        Example(f"{n}-{number}", "", text, "Which?", (Answer(text, 0),), False, "letter")
        for n, text in enumerate(passages)
        for number in range(2)
    ]
    source = write_examples(tmp_path / "source.json", asked)
    out = tmp_path / "new" / "more.json"
    with pytest.raises(SquadFormatError, match="nothing to add"):
        add_unlabelled(UnlabelledOptions(data=str(source), out=out))
    assert not out.exists()
    made = add_unlabelled(UnlabelledOptions(data=str(source), out=out, passages=0, same_kind=1))
    added = [e for e in made if e.unlabelled]
    assert len(added) == len(asked)
    assert all(e.context != passages[int(e.id[0])] for e in added)


def test_passages_that_come_back_later_in_the_file_are_the_same(tmp_path):
    """Annotation tools write a paragraph for each question, in the order of the work."""
    asked = [
        Example(f"{n}-{number}", "Title", text, "Which?", (Answer(text, 0),), False)
        for number in range(3)
        for n, text in enumerate(("First text.", "Second text."))
    ]
    paragraphs = [
        {
            "context": e.context,
            "qas": [{"id": e.id, "question": "Which?", "answers": [{"text": e.context, "answer_start": 0}]}],
        }
        for e in asked
    ]
    source = tmp_path / "source.json"
    source.write_text(json.dumps({"data": [{"title": "Title", "paragraphs": [p]} for p in paragraphs]}))
    made = add_unlabelled(UnlabelledOptions(data=str(source), out=tmp_path / "more.json", passages=1))
    added = [e for e in made if e.unlabelled]
    assert len(added) == len(asked)
    assert all(e.context != asked[0].context for e in added if e.id.startswith("0-"))
    assert all(e.context != asked[1].context for e in added if e.id.startswith("1-"))


def test_nothing_unlabelled_is_held_out_and_nothing_of_the_held_out_is_trained_on(tmp_path):
    def question(number):
        return {"id": number, "question": "Which?", "answers": [], "is_impossible": True}

    def passage(a, p):
        questions = [question(f"{a}-{p}-{q}") for q in range(3)]
        return {"context": f"Passage {p} of article {a}.", "qas": questions}

    articles = [{"title": f"t{a}", "paragraphs": [passage(a, 0), passage(a, 1)]} for a in range(30)]
    source = tmp_path / "v2.json"
    source.write_text(json.dumps({"version": "t", "data": articles}))
    add_unlabelled(UnlabelledOptions(data=str(source), out=tmp_path / "more.json"))
    train, held_out = hold_out(read_squad(tmp_path / "more.json", unlabelled=True))
    plain_train, plain_held_out = hold_out(read_squad(source))
    assert [e.id for e in held_out] == [e.id for e in plain_held_out] != []
    assert {e.id for e in train if not e.unlabelled} == {e.id for e in plain_train}
    assert {e.title for e in train} & {e.title for e in held_out} == set()
    assert sum(e.unlabelled for e in train) == len(plain_train)


def test_the_loss_of_gold_answers_leaves_unlabelled_windows_out():
    start = torch.tensor([[0.0, 1.0], [5.0, -5.0]])
    end = torch.tensor([[0.0, 1.0], [5.0, -5.0]])
    valid = torch.ones(2, 2, dtype=torch.bool)
    positions = torch.tensor([1, -1])
    loss = hard_loss(start, end, positions, positions, valid, 1)
    assert float(loss) == pytest.approx(math.log(1 + math.exp(-1)), abs=1e-6)  # of the first window
    none = torch.tensor([-1, -1])
    assert float(hard_loss(start, end, none, none, valid, 1)) == 0.0


def test_distillation_takes_such_a_file(made, make_bundle, tmp_path):
    data = json.loads(made.read_text())
    data["data"] = data["data"][:1]
    data["data"][0]["paragraphs"] = data["data"][0]["paragraphs"][:2] + data["data"][0]["paragraphs"][-2:]
    small = tmp_path / "small.json"
    small.write_text(json.dumps(data))
    bundle = prune(PruneOptions(model=make_bundle(), data=str(small), out=tmp_path / "o"))
    labelled = [e for e in read_squad(small, unlabelled=True) if not e.unlabelled]
    windows = make_windows(labelled, bundle.tokenizer, bundle.settings)
    assert bundle.manifest.pruning["importance_windows"] == len(windows)


def test_a_vocabulary_that_does_not_tell_words_from_pieces_is_refused(make_bundle, tmp_path):
    with pytest.raises(OptionError, match="--model"):
        add_unlabelled(UnlabelledOptions(out=tmp_path / "o.json", reworded=1, model=make_bundle("roberta")))
    assert list(tmp_path.iterdir()) == []
