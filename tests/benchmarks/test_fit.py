"""From a user's file of questions to a file for phones, and which of two files is better."""

import csv
import json
from dataclasses import replace

import pytest
from comparisons import copied
from stops import stopped_at

from benchmarks import fit_and_compare
from benchmarks.fit import FitOptions
from benchmarks.fit_and_compare import fit, verdict
from qa.base.errors import OptionError, PocketQAError, UnsupportedExport
from qa.base.files import machine_mark
from qa.bundles.bundle import HELD_OUT, open_bundle
from qa.bundles.trained_on import TrainedOn, passage_hash
from qa.data.squad import read_squad
from qa.evaluation.bootstrap import Interval
from qa.formats.precision import PRECISIONS

pytestmark = pytest.mark.usefixtures("fresh_accelerate")
ASKED = ("How many books?", "Which room?", "Which floor?", "Who dusts it?", "What colour?")


def asked(n_texts):
    """Rows of a table; the last question on each text has no answer."""
    for i in range(n_texts):
        answers = (f"{i + 100} books", f"room {i + 500}", f"floor {i + 900}", f"Ada{i}", "")
        text = "Shelf {} holds {} in {} on {}. {} dusts it.".format(i, *answers)
        yield from ((question, text, answer) for question, answer in zip(ASKED, answers, strict=True))


def table(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("question", "context", "answer"), *rows])
    return str(path)


@pytest.fixture
def model(make_bundle, tmp_path, monkeypatch):
    """A tiny random model with a threshold. Its export keeps few of its best spans."""
    monkeypatch.setitem(PRECISIONS["int8"].equal_spans, "tflite", 0.0)
    return copied(open_bundle(make_bundle()), tmp_path / "model", null_threshold=0.25).path


def test_a_table_becomes_a_file_and_a_stopped_run_continues(model, tmp_path, capsys):
    out = tmp_path / "runs" / "mine"
    file = table(tmp_path / "mine.csv", [*asked(44), ("Who?", "Ada or Ada.", "Ada")])
    options = FitOptions(file, out, model, epochs=0.5, learning_rate=1e-6)  # it learns nothing
    with stopped_at(2):
        fit(options)
    printed = capsys.readouterr()
    assert "this takes about " in printed.out
    assert "120 windows, 0.5 times" in printed.out
    assert "same command" in printed.err
    checkpoint = out / "training" / "fitted" / "checkpoint.safetensors"
    assert checkpoint.is_file()

    fit(options)
    printed = capsys.readouterr()
    assert not checkpoint.exists()
    assert "questions.json.dropped.tsv" in printed.out
    assert printed.out.splitlines()[-1].startswith(f"keep {model}: the new file differs by ")
    assert "next:" not in printed.out
    assert {"report.html", "rows.jsonl", "questions.json.dropped.tsv"} <= {
        path.name for path in out.iterdir()
    }
    train, held_out = (read_squad(out / f"{name}.json") for name in ("train", "held_out"))
    assert (len(train), len(held_out)) == (120, 100)
    assert not {e.context for e in train} & {e.context for e in held_out}

    bundle = open_bundle(out / "fitted")
    assert TrainedOn.read(bundle.path).passages == {passage_hash(e.context) for e in train}, "all of them"
    assert not (bundle.path / HELD_OUT).exists()
    exported = open_bundle(out / "fitted-tflite-int8")
    assert exported.manifest.parent.sha256 == bundle.sha256
    assert exported.settings.null_threshold == 0.25

    fit(options)
    again = capsys.readouterr().out.splitlines()
    assert not any("this takes about" in line for line in again)
    assert again[-1] == printed.out.splitlines()[-1]
    with pytest.raises(PocketQAError, match=r"--epochs 0\.5, not 1"):
        fit(replace(options, epochs=1))
    table(tmp_path / "mine.csv", asked(43))
    with pytest.raises(OptionError, match=r"--out .*other questions"):
        fit(options)


def test_too_few_questions_are_all_trained_on_and_nothing_is_recommended(
    model, tmp_path, monkeypatch, capsys
):
    exports = []
    monkeypatch.setattr(
        fit_and_compare, "exported", lambda bundle, parent, out, on: exports.append((bundle.path, on)) or out
    )
    out = tmp_path / "mine"
    out.mkdir()
    (out / f"questions.json.partial-0-{machine_mark()}-999999999").write_text("of a run that was killed")
    file = table(tmp_path / "mine.csv", asked(6))
    fit(FitOptions(file, out, model, epochs=0.5))
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("set apart to compare on: nothing: 30 questions") for line in lines)
    assert lines[-1].startswith("no file is recommended")
    assert len(TrainedOn.read(out / "fitted").passages) == 6
    assert exports == [(out / "fitted", out / "questions.json")], "compared on the user's own questions"
    assert f"score {out / 'fitted-tflite-int8'} and " in lines[-1]
    assert not (out / "report.html").exists()
    assert not list(out.glob("*.partial-*"))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "no records"),
        ([("Who?", "Rain fell.", "Ada"), ("Who?", "Ada or Ada.", "Ada")], r"mine.csv: no question .*\(1\)"),
        ("unlabelled", "unlabelled: line-3; label or remove"),
        (None, "no such file"),
    ],
    ids=["empty", "all refused", "not labelled", "absent"],
)
def test_questions_that_cannot_be_used_leave_nothing(rows, says, model, tmp_path):
    file = tmp_path / "mine.csv"
    if rows == "unlabelled":
        file.write_text("question,context,answer,unlabelled\nWho?,Ada.,Ada,\nWho?,Bob.,,true\n")
    elif rows is not None:
        table(file, rows)
    with pytest.raises(PocketQAError, match=says):
        fit(FitOptions(str(file), tmp_path / "mine", model))
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("name", ["letter.txt", "questions.json"])
def test_a_folder_of_something_else_stays_as_it_is(name, model, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / name).write_text(json.dumps("mine"))
    with pytest.raises(OptionError, match=r"--out .*choose another --out"):
        fit(FitOptions(table(tmp_path / "mine.csv", asked(3)), out, model))
    assert [path.name for path in out.iterdir()] == [name]


def test_options_are_refused_at_once(make_whole_bundle, tmp_path):
    with pytest.raises(UnsupportedExport, match=r"--model .*TFLite"):
        fit(FitOptions("absent.csv", tmp_path / "mine", make_whole_bundle("bidaf").path))
    with pytest.raises(OptionError, match="--epochs must be above 0"):
        FitOptions("mine.csv", tmp_path / "mine", epochs=0)
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="--out"):
        FitOptions("mine.csv", tmp_path / "file" / "mine")


@pytest.mark.parametrize(
    ("points", "overlap", "says"),
    [
        (
            (12.34, 3.2, 20.0),
            None,
            "the new file is better by +12.3 points of F1 (95% interval +3.2 to +20.0)",
        ),
        (
            (12.34, 3.2, 20.0),
            0.0,
            "the new file is better by +12.3 points of F1 (95% interval +3.2 to +20.0)",
        ),
        (
            (4, -1, 9),
            None,
            "keep ours: the new file differs by +4.0 points of F1 (95% interval -1.0 to +9.0)",
        ),
        (
            (-4, -9, -1),
            None,
            "keep ours: the new file differs by -4.0 points of F1 (95% interval -9.0 to -1.0)",
        ),
        ((12, 3, 20), 0.5, "no file is recommended: the new one differs by +12.0 points of F1 (95% "),
    ],
)
def test_a_file_is_recommended_if_its_interval_is_above_zero(points, overlap, says):
    line = verdict(Interval(*points), overlap, "ours")
    assert line.startswith(says)
    assert (line == says) == (not overlap)
