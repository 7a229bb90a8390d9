"""Evaluation by parts: the same scores as at once, and a run that was stopped goes on."""

import json

import pytest

from qa.base import progress
from qa.base.errors import OptionError
from qa.base.files import file_sha256
from qa.base.journal import Journal
from qa.bundles.bundle import open_bundle
from qa.data.datasets import resolve
from qa.data.squad import Example, read_squad
from qa.evaluate import EvaluateOptions, evaluate
from qa.evaluation import predict as prediction
from qa.evaluation.predict import evaluate_runtime, parts, predict, score
from qa.runtime.runtimes import load_runtime, run_windows
from qa.text.features import make_windows


@pytest.fixture
def one_at_a_time(monkeypatch):
    monkeypatch.setattr(prediction, "PART_CHARACTERS", 1)


def test_parts_have_so_many_characters_or_one_question(monkeypatch):
    monkeypatch.setattr(prediction, "PART_CHARACTERS", 10)
    examples = [Example(str(i), "", "x" * n, "", (), False) for i, n in enumerate((4, 6, 1, 30, 2, 9))]
    assert ["".join(e.id for e in part) for part in parts(examples)] == ["01", "2", "3", "4", "5"]
    assert ["".join(e.id for e in part) for part in parts(examples, 3)] == ["3", "4", "5"]
    assert list(parts(examples, 6)) == []


def test_by_parts_it_scores_as_at_once(tiny_export, one_at_a_time):
    bundle = tiny_export("onnx")
    examples = read_squad(resolve("embedded", "dev"))[::40]
    runtime = load_runtime(bundle, 1)
    windows = make_windows(examples, bundle.tokenizer, bundle.settings)
    whole = predict(examples, windows, run_windows(runtime, windows), bundle.settings)
    scores, predictions = evaluate_runtime(runtime, bundle, examples)
    assert predictions == [one.shortened() for one in whole]
    assert scores == score(examples, whole, bundle.settings.null_threshold) | {"n_windows": len(windows)}


def test_a_log_gets_lines_about_a_long_evaluation(
    make_bundle, small_squad, one_at_a_time, monkeypatch, capsys
):
    """Every evaluation is a long one here; stderr is no terminal."""
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    n_questions = evaluate(EvaluateOptions(str(small_squad), make_bundle()))["total"]
    lines = [
        line for line in capsys.readouterr().err.splitlines() if f" of {n_questions} questions (" in line
    ]
    assert len(lines) == n_questions
    assert f": {n_questions} of {n_questions} questions (100 %), " in lines[-1]


def test_a_stopped_evaluation_goes_on(make_bundle, small_squad, one_at_a_time, tmp_path, monkeypatch, capsys):
    config = EvaluateOptions(str(small_squad), make_bundle(), out=tmp_path / "stopped.json")
    straight = evaluate(EvaluateOptions(str(small_squad), make_bundle(), out=tmp_path / "straight.json"))
    capsys.readouterr()
    seen = []

    def tenth_stops(runtime, windows):
        seen.append(windows)
        if len(seen) == 10:
            raise KeyboardInterrupt
        return run_windows(runtime, windows)

    monkeypatch.setattr(prediction, "run_windows", tenth_stops)
    with pytest.raises(KeyboardInterrupt):
        evaluate(config)
    assert "stopped; run the same command to continue from" in capsys.readouterr().err
    assert not config.out.exists()
    assert evaluate(config) == straight
    assert len(seen) == 1 + len(read_squad(small_squad)), "what was answered before is not asked again"
    assert config.out.read_bytes() == (tmp_path / "straight.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped.json", "straight.json"]


def test_named_data_are_scored_on_their_dev_part(make_bundle):
    assert evaluate(EvaluateOptions("embedded", make_bundle()))["total"] == len(
        read_squad(resolve("embedded", "dev"))
    )


def test_a_threshold_of_ones_own_decides_what_is_answered(tiny_export, small_squad, tmp_path):
    """As high as can be, all is answered, as low as can be, nothing; what is reported as the best gives the
    best F1."""
    model = tiny_export("onnx").path
    out = tmp_path / "answers.json"
    found = {
        t: evaluate(EvaluateOptions(str(small_squad), model, out=out, null_threshold=t)) for t in (1e9, -1e9)
    }
    assert set(json.loads(out.read_text()).values()) == {""}
    best = found[1e9]["best_f1_thresh"]
    assert found[-1e9]["best_f1_thresh"] == best, "the best does not depend on the one that is used"
    assert evaluate(EvaluateOptions(str(small_squad), model, null_threshold=best))["f1"] == pytest.approx(
        found[1e9]["best_f1"]
    )
    with pytest.raises(OptionError, match="--null-threshold cannot be combined with --predictions"):
        EvaluateOptions(str(small_squad), predictions=out, null_threshold=2.0)


def test_one_process_at_a_time_answers_into_a_file(make_bundle, small_squad, tmp_path):
    config = EvaluateOptions(str(small_squad), make_bundle(), out=tmp_path / "answers.json")
    bundle = open_bundle(make_bundle())
    run = {
        "bundle": bundle.sha256,
        "runtime": load_runtime(bundle).name,
        "data": file_sha256(small_squad),
    }
    other = Journal(config.out, run)
    with pytest.raises(OptionError, match=r"answers\.json: another process is at work on the same"):
        evaluate(config)
    other.close()
    evaluate(config)
    assert len(json.loads(config.out.read_text())) == 24
