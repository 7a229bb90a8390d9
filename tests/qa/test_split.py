"""Parting questions by their texts: by words alone, a fifth or what a score needs, and nothing of too few."""

import errno
import os
from dataclasses import replace
from unittest.mock import Mock

import pytest
from comparisons import write_examples

from qa.base.errors import OptionError
from qa.bundles.trained_on import passage_hash
from qa.data.squad import Answer, Example, read_squad
from qa.split import SplitOptions, held_out_contexts, split


def examples_on(sizes):
    """Return as many questions on each text as `sizes` says."""
    return [
        Example(f"{text}-{i}", "", f"Text {text}", "?", (Answer("T", 0),), False)
        for text, n in enumerate(sizes)
        for i in range(n)
    ]


@pytest.mark.parametrize(
    ("sizes", "n_texts"),
    [
        ([10] * 100, 20),  # a fifth
        ([10] * 20, 10),  # 100 questions, a half
        ([20] * 20, 10),  # 10 texts
        ([10] * 19, 0),  # of 190
        ([40] * 19, 0),  # 10 of 19 texts
        ([1000], 0),
    ],
)
def test_a_fifth_is_held_out_or_100_questions_on_10_texts(sizes, n_texts):
    examples = examples_on(sizes)
    held_out = held_out_contexts(examples)
    assert len(held_out) == n_texts
    assert held_out_contexts(examples[::-1]) == held_out
    hashes = sorted(passage_hash(e.context) for e in examples_on([1] * len(sizes)))
    assert {passage_hash(text) for text in held_out} == set(hashes[:n_texts])


def test_a_copy_is_held_out_with_its_original_and_words_decide():
    examples = examples_on([10] * 100)
    held_out = held_out_contexts(examples)
    noisy = [replace(e, id=f"{e.id}-noisy", context=f"{e.context}!!! noise", copy_of=e.id) for e in examples]
    of_copies = {f"{context}!!! noise" for context in held_out}
    assert held_out_contexts([*examples, *noisy]) == held_out | of_copies
    shouted = [replace(e, id=f"{e.id}-loud", context=e.context.upper()) for e in examples]
    of_shouted = {context.upper() for context in held_out}
    assert held_out_contexts([*examples, *shouted]) == held_out | of_shouted


def test_of_50_titles_articles_are_held_out_whole():
    examples = [replace(e, title=f"manual {int(e.context.split()[1]) % 50}") for e in examples_on([10] * 200)]
    held_out = held_out_contexts(examples)
    titles = [{e.title for e in examples if (e.context in held_out) == is_held} for is_held in (True, False)]
    assert titles[0].isdisjoint(titles[1])
    assert len(titles[0]) >= 10
    few = [replace(e, title=f"manual {int(e.context.split()[1]) % 49}") for e in examples]
    assert held_out_contexts(few) == held_out_contexts(examples_on([10] * 200))


def test_no_text_is_in_both_files_and_no_question_is_lost(tmp_path, capsys):
    examples = examples_on([10] * 100)
    file = tmp_path / "mine.json"
    write_examples(file, examples)
    out = tmp_path / "parts"
    train, held_out = split(SplitOptions(file=str(file), out=out))
    parts = [read_squad(path) for path in (train, held_out)]
    assert sorted(e.id for part in parts for e in part) == sorted(e.id for e in examples)
    assert not {e.context for e in parts[0]} & {e.context for e in parts[1]}
    assert [len(part) for part in parts] == [800, 200]
    assert f"--data {train} --eval-data {held_out}" in capsys.readouterr().out
    with pytest.raises(OptionError, match=r"--out must be a folder without this file, got .*train\.json"):
        SplitOptions(file=str(file), out=out)


def test_where_the_second_file_cannot_be_written_the_first_goes_too(tmp_path, monkeypatch):
    write_examples(tmp_path / "mine.json", examples_on([10] * 100))
    options = SplitOptions(file=str(tmp_path / "mine.json"), out=tmp_path / "parts")
    synced = []

    def full(descriptor):
        synced.append(descriptor)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            split(options)
    assert list(options.out.iterdir()) == []
    assert all(path.is_file() for path in split(options))


def test_where_nobody_reads_what_is_printed_both_files_stay(tmp_path, monkeypatch):
    write_examples(tmp_path / "mine.json", examples_on([10] * 100))
    options = SplitOptions(file=str(tmp_path / "mine.json"), out=tmp_path / "parts")
    monkeypatch.setattr("builtins.print", Mock(side_effect=BrokenPipeError))
    with pytest.raises(BrokenPipeError):
        split(options)
    assert [len(read_squad(path)) for path in sorted(options.out.iterdir())] == [200, 800]


def test_of_too_few_questions_nothing_is_written(tmp_path):
    write_examples(tmp_path / "few.json", examples_on([5] * 6))
    with pytest.raises(OptionError, match=r"few\.json: 30 questions on 6 texts"):
        split(SplitOptions(file=str(tmp_path / "few.json"), out=tmp_path / "parts"))
    assert not (tmp_path / "parts").exists()


def test_a_passage_with_several_titles_is_a_text_of_its_own():
    """A table may have the subjects of its rows as titles."""
    examples = [replace(e, title=f"row {n}") for n, e in enumerate(examples_on([10] * 100))]
    assert held_out_contexts(examples) == held_out_contexts(examples_on([10] * 100))
    half = [replace(e, context=f"{e.context}. Terms  apply.") for e in examples_on([10] * 100)[::2]]
    spaced = [replace(e, context=e.context.replace("  ", " ")) for e in half]
    mixed = [replace(e, title=f"{n % 60}") for n, e in enumerate([*half, *spaced])]
    held = {passage_hash(context) for context in held_out_contexts(mixed)}
    assert held.isdisjoint(
        passage_hash(e.context) for e in mixed if e.context not in held_out_contexts(mixed)
    )
