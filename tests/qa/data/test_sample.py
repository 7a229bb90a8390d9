"""A smaller data file has the wanted questions, evenly spaced and otherwise untouched."""

import gzip
import json
from dataclasses import replace
from itertools import pairwise

import pytest
from comparisons import write_examples

from qa.base.errors import OptionError, SquadFormatError
from qa.data.datasets import EMBEDDED, EVERYDAY, check_not_dev, resolve
from qa.data.sample import SampleOptions, write_sample
from qa.data.squad import read_squad


def test_questions_are_evenly_spaced_and_untouched(tmp_path, capsys):
    everything = read_squad(resolve(EMBEDDED, "dev"))
    write_sample(SampleOptions(tmp_path / "few.json", 50))
    few = read_squad(tmp_path / "few.json")
    assert f"50 of {len(everything):,} questions" in capsys.readouterr().out
    places = [everything.index(example) for example in few]  # equal in every field
    steps = {b - a for a, b in pairwise(places)}
    assert len(few) == 50
    assert max(steps) - min(steps) <= 1
    assert places[0] < max(steps)
    assert places[-1] >= len(everything) - max(steps)
    again = tmp_path / "again.json"
    write_sample(SampleOptions(again, 50))
    assert again.read_bytes() == (tmp_path / "few.json").read_bytes()


def test_the_split_of_a_named_data_set_can_be_chosen(tmp_path):
    write_sample(SampleOptions(tmp_path / "few.json", 7, split="train"))
    train = {e.id for e in read_squad(resolve(EMBEDDED, "train"))}
    assert {e.id for e in read_squad(tmp_path / "few.json")} < train


def test_a_name_in_gz_is_packed(tmp_path):
    for name in ("few.json", "few.json.gz"):
        write_sample(SampleOptions(tmp_path / name, 3))
    plain = (tmp_path / "few.json").read_bytes()
    assert gzip.decompress((tmp_path / "few.json.gz").read_bytes()) == plain


def test_of_fewer_questions_all_are_taken(tmp_path):
    write_sample(SampleOptions(tmp_path / "all.json", 10**6))
    assert read_squad(tmp_path / "all.json") == read_squad(resolve(EMBEDDED, "dev"))


def test_copies_are_not_sampled_without_their_originals(tmp_path):
    examples = read_squad(resolve(EVERYDAY, "train"))[:2]
    copy = replace(examples[0], id="c", copy_of=examples[0].id)
    data = write_examples(tmp_path / "copies.json", [*examples, copy])
    with pytest.raises(SquadFormatError, match=rf"{data}: 1 questions .*: c;"):
        write_sample(SampleOptions(tmp_path / "few.json", 2, str(data)))


def test_questions_without_a_label_are_no_development_data(tmp_path):
    examples = read_squad(resolve(EVERYDAY, "train"))[:2]
    unlabelled = replace(examples[0], id="u", answers=(), is_impossible=False, unlabelled=True)
    data = str(write_examples(tmp_path / "unlabelled.json", [*examples, unlabelled]))
    with pytest.raises(SquadFormatError, match=r"unlabelled\.json: 1 questions are unlabelled: u;"):
        write_sample(SampleOptions(tmp_path / "dev.json", 2, add=(data,)))
    write_sample(SampleOptions(tmp_path / "train.json", 2, split="train", add=(data,)))
    assert len(read_squad(tmp_path / "train.json", unlabelled=True)) == 5


def test_all_questions_of_other_files_follow(tmp_path, capsys):
    mixed = tmp_path / "mixed.json"
    write_sample(SampleOptions(mixed, 60, split="train", add=(EVERYDAY,)))
    everyday = read_squad(resolve(EVERYDAY, "train"))
    examples = read_squad(mixed)
    assert examples[60:] == everyday
    assert {e.id for e in examples[:60]} < {e.id for e in read_squad(resolve(EMBEDDED, "train"))}
    assert f"60 of 1,500 questions, and {len(everyday):,} added" in capsys.readouterr().out
    check_not_dev(mixed, "--data")
    with pytest.raises(SquadFormatError, match=f"--add {EMBEDDED}: {EMBEDDED} has"):
        write_sample(SampleOptions(tmp_path / "twice.json", 60, add=(EMBEDDED,)))


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_table_is_not_overwritten_with_its_sample(tmp_path, monkeypatch, split):
    monkeypatch.setenv("HOME", str(tmp_path))
    table = tmp_path / "mine.json"
    table.write_text('[{"question": "When?", "context": "In 1841.", "answer": "1841"}]')
    for given in ({"data": str(table)}, {"add": (str(table),)}):
        with pytest.raises(OptionError, match=r"--out .*mine\.json: is an input"):
            write_sample(SampleOptions(table, 9, split=split, **given))
    assert table.read_text().startswith('[{"question"')


def test_tables_without_ids_cannot_be_mixed_and_both_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    one, other = (tmp_path / name for name in ("one.csv", "other.csv"))
    for file in (one, other):
        file.write_text("question,context,answer\nWhen?,In 1841.,1841\n")
    with pytest.raises(SquadFormatError, match=f"--add {other}: {one} has .*: line-2; .*'id'"):
        write_sample(SampleOptions(tmp_path / "mixed.json", 9, str(one), "train", (str(other),)))
    assert not (tmp_path / "mixed.json").exists()


def test_added_development_questions_are_no_training_data(tmp_path):
    add = (str(resolve(EMBEDDED, "dev")),)
    write_sample(SampleOptions(tmp_path / "mixed.json", 5, split="train", add=add))
    write_sample(SampleOptions(tmp_path / "few.json", 9, str(tmp_path / "mixed.json")))
    for name in ("mixed.json", "few.json"):
        with pytest.raises(OptionError, match=rf"--data .*{name}.*dev part of {EMBEDDED}"):
            check_not_dev(tmp_path / name, "--data")


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(OptionError, match="--questions must be at least 1"):
        SampleOptions(tmp_path / "none.json", 0)
    for name in ("sample.csv", "sample.TSV.gz", "sample.jsonl", "sample.parquet"):  # would be read as records
        with pytest.raises(OptionError, match=rf"--out must be a name in \.json.*{name}"):
            SampleOptions(tmp_path / name, 1)
    data = tmp_path / "data.json"
    answer = {"text": "b", "answer_start": 2}
    paragraph = {"context": "a b", "qas": [{"id": "1", "question": "?", "answers": [answer]}]}
    data.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [paragraph]}]}))
    before = data.read_bytes()
    with pytest.raises(OptionError, match="is an input"):
        write_sample(SampleOptions(data, 1, str(data)))
    assert data.read_bytes() == before
