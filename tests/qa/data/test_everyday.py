"""The data set Everyday: as its card counts it, split by text, and never to be trained on what judges models."""

import re
from collections import Counter
from itertools import chain, combinations
from pathlib import Path

import pytest

from qa.base.errors import OptionError
from qa.data.datasets import EVERYDAY, EVERYDAY_HELD_OUT, check_not_dev, data_reference, resolve
from qa.data.metrics import evaluate_predictions
from qa.data.squad import read_predictions, read_squad
from qa.evaluation.threshold import hold_out, too_few

FOLDER = resolve(EVERYDAY, "dev").parent
PARTS = ("train", "held-out", "dev")
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def parts():
    return {split: read_squad(resolve(EVERYDAY, split)) for split in PARTS}


def words(text):
    return re.findall(r"\w+", text.lower())


@pytest.mark.parametrize("split", PARTS)
def test_the_card_counts_what_is_there(parts, split):
    examples = parts[split]
    contexts = {e.context for e in examples}
    lengths = [len(context.split()) for context in contexts]
    row = (
        f"| `everyday-{split}.json.gz` | {len(contexts)} | {len(examples):,} | "
        f"{sum(e.is_impossible for e in examples):,} | "
        f"{min(lengths)} to {max(lengths)}, mean {sum(lengths) / len(lengths):.0f} |"
    )
    assert row in CARD
    assert len({e.title for e in examples}) == len(contexts), "a text has a title of its own"
    assert len(contexts) >= 48
    assert 0.25 < sum(e.is_impossible for e in examples) / len(examples) < 0.34


def test_the_parts_share_kinds_and_no_text(parts):
    kinds = {split: Counter(e.category for e in examples) for split, examples in parts.items()}
    assert kinds["train"].keys() == kinds["dev"].keys() == kinds["held-out"].keys()
    assert all(kind in CARD for kind in kinds["dev"])
    assert len({e.id for examples in parts.values() for e in examples}) == sum(map(len, parts.values()))
    runs = {}
    for split, examples in parts.items():
        texts = [words(context) for context in {e.context for e in examples}]
        runs[split] = {tuple(text[i : i + 10]) for text in texts for i in range(len(text) - 9)}
    for one, other in combinations(PARTS, 2):
        assert not runs[one] & runs[other], "no ten words in a row are in two parts"


def test_answers_are_whole_words_and_no_question_repeats_in_its_text(parts):
    for example in chain(*parts.values()):
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
    assert not too_few(parts["held-out"])
    assert not too_few(hold_out(parts["train"])[1])


def test_training_on_the_other_parts_is_refused():
    assert data_reference(resolve(EVERYDAY, "train"))["dataset"] == EVERYDAY
    check_not_dev(resolve(EVERYDAY, "train"), "--data")
    for split in PARTS[1:]:
        with pytest.raises(OptionError, match=rf"--data .*everyday-{split}.*train on --data everyday"):
            check_not_dev(resolve(EVERYDAY, split), "--data")
    assert resolve(EVERYDAY, "held-out") == EVERYDAY_HELD_OUT


def test_the_second_readers_agreement_is_what_the_card_says(parts):
    scores = evaluate_predictions(parts["dev"], read_predictions(FOLDER / "second-reader-dev.json"))
    assert f"EM {scores['exact']:.1f} and F1 {scores['f1']:.1f}" in CARD
