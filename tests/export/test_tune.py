"""Thresholds and calibration are added to a finished bundle, and nothing else of it changes."""

import gzip
import json
import zipfile
from dataclasses import replace

import pytest
from comparisons import copied
from places import ROOT

from compress.cast import CastOptions, cast
from export.android.package import MEMBERS, read_package
from export.onnx.exporter import export as export_onnx
from export.options import OnnxOptions
from export.tune import TuneOptions, tune
from qa.ask import AskOptions, ask
from qa.base import shipped
from qa.base.errors import OptionError
from qa.bundles.bundle import CARD, MANIFEST, SETTINGS, open_bundle
from qa.data.datasets import EVERYDAY_HELD_OUT
from qa.data.squad import read_squad
from qa.evaluate import EvaluateOptions, evaluate
from qa.text.settings import Calibration


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """108 real questions, of which every second is asked of another passage and has no answer there."""
    path = tmp_path_factory.mktemp("tune") / "questions.json"
    excerpt = ROOT / "qa" / "data" / "excerpt" / "squad-excerpt-dev.json.gz"
    articles = json.loads(gzip.decompress(excerpt.read_bytes()))["data"]
    paragraphs = [(a["title"], p) for a in articles for p in a["paragraphs"] if len(p["qas"]) > 1]
    shortest = sorted(paragraphs, key=lambda pair: len(pair[1]["context"]))[:27]  # they take the least time
    data = []
    for number, (title, paragraph) in enumerate(shortest):
        others = shortest[(number + 14) % len(shortest)][1]["qas"][:2]
        moved = [{**qa, "id": f"{qa['id']}-moved", "answers": [], "is_impossible": True} for qa in others]
        qas = [*paragraph["qas"][:2], *moved]
        data.append({"title": title, "paragraphs": [{"context": paragraph["context"], "qas": qas}]})
    path.write_text(json.dumps({"version": "2.0", "data": data}))
    return path


@pytest.fixture(scope="module")
def shipped_and_tuned(questions, tmp_path_factory):
    """The shipped TFLite file, and the same tuned on the questions."""
    source = open_bundle(shipped.FOLDER / shipped.ASKED)
    out = tmp_path_factory.mktemp("tuned") / "tuned"
    return source, tune(TuneOptions(source.path, out, (questions,), eval_data=str(questions)))


@pytest.mark.parametrize("format", ["tflite", "onnx"])
def test_only_the_settings_change(tiny_export, shipped_and_tuned, questions, tmp_path, format):
    source, tuned = shipped_and_tuned
    if format == "onnx":
        source = tiny_export("onnx")
        given = {"data": (questions,), "max_answer_length": 50, "eval_data": str(questions)}
        tuned = tune(TuneOptions(source.path, tmp_path / "tuned", **given))
        assert (source.settings.max_answer_length, tuned.settings.max_answer_length) == (30, 50)
    assert open_bundle(tuned.path) == tuned
    changed = {n for n, sha256 in tuned.manifest.files.items() if source.manifest.files[n] != sha256}
    assert changed - {tuned.weights.name} == {SETTINGS, CARD}
    before = json.loads((source.path / MANIFEST).read_text())
    after = json.loads((tuned.path / MANIFEST).read_text())
    known = {key: value for key, value in before.items() if value is not None}
    anew = ("tuning", "scores", "files")
    assert {k: v for k, v in after.items() if k not in anew} == {
        k: v for k, v in known.items() if k not in anew
    }
    if format == "tflite":
        ours, theirs = (read_package(bundle.weights) for bundle in (tuned, source))
        size = theirs.info["model"]["bytes"]
        assert tuned.weights.read_bytes()[:size] == source.weights.read_bytes()[:size]
        assert ours.settings == tuned.settings
        assert {**ours.info, "settings": 0} == {**theirs.info, "settings": 0}
        with zipfile.ZipFile(tuned.weights) as new, zipfile.ZipFile(source.weights) as old:
            assert [name for name in MEMBERS if new.read(name) != old.read(name)] == [SETTINGS]
    else:
        assert tuned.weights.read_bytes() == source.weights.read_bytes()


def test_a_tuned_bundle_says_on_what_and_answers_in_three_modes(
    shipped_and_tuned, questions, tmp_path, capsys
):
    tuned = shipped_and_tuned[1]
    tuning = tuned.manifest.tuning
    assert (tuning.n_questions, tuning.n_unanswerable, tuning.n_articles) == (108, 54, 13)
    low, high = tuning.null_threshold_interval
    assert low <= tuned.settings.null_threshold <= high
    assert tuned.settings.strict_threshold <= tuned.settings.null_threshold
    assert 0 < tuned.manifest.scores.calibration_error < 15
    card = (tuned.path / CARD).read_text()
    assert "tuned on 108 questions of `questions.json`" in card
    assert "Expected calibration error" in card
    results = {
        mode: evaluate(EvaluateOptions(str(questions), tuned.path, mode=mode))
        for mode in ("balanced", "strict")
    }
    assert results["strict"]["NoAns_f1"] >= 95.0
    assert results["balanced"]["tuning"]["n_questions"] == 108
    assert results["balanced"]["calibration_error"] == tuned.manifest.scores.calibration_error
    (tmp_path / "passage.txt").write_text("Ada Lovelace wrote the first program in 1843.")
    capsys.readouterr()
    given = {
        "model": tuned.path,
        "context": (str(tmp_path / "passage.txt"),),
        "question": ("Who?",),
        "threads": 1,
    }
    (always,) = ask(AskOptions(**given, mode="answering"))
    assert always.start is not None
    (declined,) = ask(AskOptions(**given, null_threshold=-1e9))
    assert declined.not_sure.text == always.text
    assert f"not sure: {always.text}" in capsys.readouterr().out
    with pytest.raises(OptionError, match="--mode strict cannot be combined with --null-threshold"):
        ask(AskOptions(**given, mode="strict", null_threshold=0.0))


@pytest.mark.system
def test_several_files_weigh_the_same_and_strict_keeps_its_share_in_each(
    shipped_and_tuned, questions, tmp_path
):
    source, tuned = shipped_and_tuned
    alone = tune(TuneOptions(source.path, tmp_path / "alone", (EVERYDAY_HELD_OUT,)))
    both = tune(TuneOptions(source.path, tmp_path / "both", (questions, EVERYDAY_HELD_OUT)))
    tuning = both.manifest.tuning
    n_questions = 108 + alone.manifest.tuning.n_questions
    n_unanswerable = 54 + alone.manifest.tuning.n_unanswerable
    assert (tuning.n_questions, tuning.n_unanswerable) == (n_questions, n_unanswerable)
    assert (tuning.data.name, [one.name for one in tuning.more_data]) == (
        questions.name,
        [EVERYDAY_HELD_OUT.name],
    )
    assert "questions of `questions.json`" in (both.path / CARD).read_text()
    assert f"and `{EVERYDAY_HELD_OUT.name}`" in (both.path / CARD).read_text()
    singles = [tuned.settings, alone.settings]
    assert both.settings.strict_threshold == min(one.strict_threshold for one in singles)
    low, high = sorted(one.null_threshold for one in singles)
    assert low < both.settings.null_threshold < high


def test_questions_must_be_there_and_enough(tiny_export, small_squad, tmp_path):
    model = tiny_export("onnx").path
    with pytest.raises(OptionError, match=r"holds out no questions; give --data"):
        tune(TuneOptions(model, tmp_path / "tuned"))
    with pytest.raises(OptionError, match=r"--data .*24 questions, 0 of them without an answer; .* takes"):
        tune(TuneOptions(model, tmp_path / "tuned", (small_squad,)))
    assert list(tmp_path.iterdir()) == []


def test_an_export_tunes_on_a_file(make_bundle, questions, small_squad, tmp_path, capsys):
    given = {"tune_threshold": questions, "eval_data": str(questions)}
    made = export_onnx(OnnxOptions(model=make_bundle(), out=tmp_path / "made", **given))
    assert "too high" in capsys.readouterr().err
    assert made.manifest.tuning.data.name == questions.name
    again = tune(TuneOptions(made.path, tmp_path / "again", (questions,), eval_data=str(small_squad)))
    assert "too high" not in capsys.readouterr().err
    assert (again.settings, again.manifest.tuning) == (made.settings, made.manifest.tuning)
    with pytest.raises(OptionError, match="--null-threshold cannot be combined with --tune-threshold"):
        OnnxOptions(null_threshold=1.0, tune_threshold=questions)


@pytest.mark.system
def test_what_was_tuned_on_a_file_stays_in_exports_and_copies(make_bundle, questions, tmp_path):
    held_out = read_squad(EVERYDAY_HELD_OUT)[:120]
    parent = copied(open_bundle(make_bundle()), tmp_path / "parent", held_out=held_out)
    tuned = tune(TuneOptions(parent.path, tmp_path / "tuned", (questions,)))
    for made in (
        export_onnx(OnnxOptions(tuned.path, tmp_path / "onnx")),
        cast(CastOptions(tuned.path, tmp_path / "fp16", "fp16")),
    ):
        assert (made.settings, made.manifest.tuning) == (tuned.settings, tuned.manifest.tuning)
    own = tune(TuneOptions(parent.path, tmp_path / "own"))
    again = cast(CastOptions(own.path, tmp_path / "again", "fp16")).manifest.tuning
    assert (again.n_questions, again.data) == (120, None), "its own held-out questions are tuned on again"


def test_questions_that_are_too_few_are_refused_before_the_export(small_squad, tmp_path, monkeypatch):
    monkeypatch.setattr("export.exporter.open_model", None)
    with pytest.raises(OptionError, match=r"--tune-threshold .* 24 questions, .* takes 100"):
        export_onnx(OnnxOptions(model=tmp_path, out=tmp_path / "few", tune_threshold=small_squad))


@pytest.mark.parametrize(("given", "strict"), [(-3.0, -3.0), (1.0, -2.0)])
def test_a_given_threshold_leaves_the_files_own_calibration(
    make_bundle, tmp_path, monkeypatch, given, strict
):
    tuned = {"null_threshold": -1.0, "strict_threshold": -2.0, "calibration": Calibration(3.0, 0.5)}
    monkeypatch.setattr(
        "export.exporter.tune_for_bundle", lambda _, parent: (replace(parent.settings, **tuned), None)
    )
    made = export_onnx(OnnxOptions(model=make_bundle(), out=tmp_path / "made", null_threshold=given))
    settings = made.settings
    assert (settings.null_threshold, settings.strict_threshold) == (given, strict)
    assert settings.calibration == tuned["calibration"]
