"""The data set Everyday: as its card counts it, split by text, and never to be trained on its development part."""

import re
from collections import Counter
from pathlib import Path

import pytest

from qa.base.errors import OptionError
from qa.data.datasets import EVERYDAY, check_not_dev, data_reference, resolve
from qa.data.metrics import evaluate_predictions
from qa.data.squad import read_predictions, read_squad
from qa.evaluation.threshold import hold_out, too_few

FOLDER = resolve(EVERYDAY, "dev").parent
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def parts():
    return {split: read_squad(resolve(EVERYDAY, split)) for split in ("train", "dev")}


def words(text):
    return re.findall(r"\w+", text.lower())


@pytest.mark.parametrize("split", ["train", "dev"])
def test_the_card_counts_what_is_there(parts, split):
    examples = parts[split]
    contexts = {e.context for e in examples}
    lengths = [len(context.split()) for context in contexts]
    row = (
        f"| `everyday-{split}.json.gz` | {len(contexts)} | {len(examples):,} | "
        f"{sum(e.is_impossible for e in examples):,} | "
        f"{min(lengths)} to {max(lengths)}, mean {sum(lengths) // len(lengths)} |"
    )
    assert row in CARD
    assert len({e.title for e in examples}) == len(contexts), "a text has a title of its own"
    assert len(contexts) >= 60
    assert 0.25 < sum(e.is_impossible for e in examples) / len(examples) < 0.34


def test_the_parts_share_kinds_and_no_text(parts):
    kinds = {split: Counter(e.category for e in examples) for split, examples in parts.items()}
    assert kinds["train"].keys() == kinds["dev"].keys()
    assert all(kind in CARD for kind in kinds["dev"])
    assert not {e.id for e in parts["train"]} & {e.id for e in parts["dev"]}
    runs = {}
    for split, examples in parts.items():
        texts = [words(context) for context in {e.context for e in examples}]
        runs[split] = {tuple(text[i : i + 10]) for text in texts for i in range(len(text) - 9)}
    assert not runs["train"] & runs["dev"], "no ten words in a row are in both parts"


def test_answers_are_whole_words_and_no_question_repeats_in_its_text(parts):
    for example in parts["train"] + parts["dev"]:
        for answer in example.answers:
            assert answer.text == answer.text.strip()
            before, after = (
                example.context[: answer.start][-1:],
                example.context[answer.start :][len(answer.text) :][:1],
            )
            assert not (before.isalnum() and answer.text[0].isalnum()), (example.id, answer.text)
            assert not (after.isalpha() and answer.text[-1].isalpha()), (example.id, answer.text)
    for examples in parts.values():
        asked = Counter((e.context, e.question.lower()) for e in examples)
        assert max(asked.values()) == 1


def test_it_is_small_and_enough_is_held_out_for_a_threshold(parts):
    assert sum(path.stat().st_size for path in Path(FOLDER).glob("*.gz")) < 1_000_000
    train, held_out = hold_out(parts["train"])
    assert not too_few(held_out)
    assert len({e.category for e in held_out}) >= 8
    assert not {e.context for e in train} & {e.context for e in held_out}


def test_training_on_the_development_part_is_refused():
    assert data_reference(resolve(EVERYDAY, "train"))["dataset"] == EVERYDAY
    check_not_dev(resolve(EVERYDAY, "train"), "--data")
    with pytest.raises(OptionError, match=r"--data .*everyday-dev.*train on --data everyday"):
        check_not_dev(resolve(EVERYDAY, "dev"), "--data")


def test_the_second_readers_agreement_is_what_the_card_says(parts):
    scores = evaluate_predictions(parts["dev"], read_predictions(FOLDER / "second-reader-dev.json"))
    assert f"EM {scores['exact']:.1f} and F1 {scores['f1']:.1f}" in CARD
