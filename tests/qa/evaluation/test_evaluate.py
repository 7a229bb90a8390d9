"""What an evaluation prints and lists; by parts, the same scores as at once, and a stopped run goes on."""

import csv
import json
import re
from pathlib import Path

import pytest
from comparisons import copied, write_examples
from stops import stop_at_part

from qa.base import progress
from qa.base.errors import OptionError
from qa.data import datasets
from qa.data.datasets import resolve
from qa.data.squad import Answer, Example, read_squad
from qa.evaluate import EvaluateOptions, evaluate, in_words
from qa.evaluation import predict as prediction
from qa.evaluation.errors import wrong_answers
from qa.evaluation.predict import evaluate_runtime, parts, predict, score
from qa.reader import Reader
from qa.runtime.runtimes import load_runtime, run_windows
from qa.text.answers import Candidate
from qa.text.features import make_windows
from qa.text.preselection import MOST_WINDOWS
from qa.text.settings import Calibration


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


def test_of_a_long_text_it_scores_what_is_read_of_it(tiny_export):
    bundle = tiny_export("onnx")
    contexts = dict.fromkeys(e.context for e in read_squad(resolve("embedded", "dev")))
    long = Example("1", "", "\n".join(contexts), "Who was first?", (), True)
    scores, (prediction,) = evaluate_runtime(load_runtime(bundle, 1), bundle, [long])
    reading = Reader(bundle).read([(long.question, long.context)])
    assert reading.n_windows_in_text[0] > scores["n_windows"] == MOST_WINDOWS
    assert prediction.null_score == reading.null_scores[0]


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
    assert lines[-1].startswith("scoring, torch ")
    assert f": {n_questions} of {n_questions} questions (100 %), " in lines[-1]


def test_a_stopped_evaluation_goes_on(make_bundle, small_squad, one_at_a_time, tmp_path, monkeypatch, capsys):
    config = EvaluateOptions(str(small_squad), make_bundle(), out=tmp_path / "stopped.json")
    straight = evaluate(EvaluateOptions(str(small_squad), make_bundle(), out=tmp_path / "straight.json"))
    capsys.readouterr()
    seen = stop_at_part(monkeypatch, 10)
    with pytest.raises(KeyboardInterrupt):
        evaluate(config)
    assert "stopped; run the same command to continue from" in capsys.readouterr().err
    assert not config.out.exists()
    assert evaluate(config) == straight
    assert len(seen) == 1 + len(read_squad(small_squad)), "what was answered before is not asked again"
    assert config.out.read_bytes() == (tmp_path / "straight.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped.json", "straight.json"]


def test_one_process_at_a_time_answers_into_a_file(tiny_export, small_squad, tmp_path, monkeypatch):
    config = EvaluateOptions(str(small_squad), tiny_export("onnx").path, out=tmp_path / "answers.json")

    def meanwhile(runtime, windows):
        with pytest.raises(OptionError, match=r"answers\.json: another process is at work on the same"):
            evaluate(config)
        return run_windows(runtime, windows)

    with monkeypatch.context() as patch:
        patch.setattr(prediction, "run_windows", meanwhile)
        evaluate(config)
    assert len(json.loads(config.out.read_text())) == 24


def test_it_prints_a_line_or_the_official_keys_and_writes_predictions(
    tiny_export, small_squad, tmp_path, capsys
):
    bundle = calibrated(tiny_export("onnx"), tmp_path / "calibrated")
    out = tmp_path / "predictions.json"
    result = evaluate(EvaluateOptions(str(small_squad), bundle.path, out=out, json=True))
    printed = capsys.readouterr()
    assert json.loads(printed.out) == result
    assert "train-test overlap: unknown" in printed.err
    assert list(result)[:3] == ["exact", "f1", "total"]
    names = {"HasAns_exact", "HasAns_f1", "HasAns_total", "n_windows", "best_f1", "best_f1_thresh"}
    assert names | {"calibration_error", "coverage_at_80", "f1_interval", "answered"} <= result.keys()
    assert not [name for name in result if "reliability" in name]
    scored = evaluate(EvaluateOptions(str(small_squad), predictions=out))
    assert scored == {key: result[key] for key in scored}
    assert capsys.readouterr().err == ""
    evaluate(EvaluateOptions(str(small_squad), bundle.path))
    (line,) = capsys.readouterr().out.splitlines()
    low, high = result.pop("f1_interval")
    assert low <= result["f1"] <= high
    assert "95" not in in_words(result), "of a few questions there is no interval"
    figures = re.findall(r"[\d.]+", line.replace("F1", ""))
    declined = 24 - result["answered"]
    assert figures == [
        *(f"{result['exact']:.2f}", f"{result['f1']:.2f}", "95", f"{low:.1f}", f"{high:.1f}"),
        *(str(result["answered"]), str(declined), f"{result['coverage_at_80']:.1f}", "80"),
        f"{result['calibration_error']:.1f}",
    ]


def calibrated(bundle, out):
    calibration = Calibration(2.0, 0.0)
    return copied(bundle, out, null_threshold=0.0, strict_threshold=-1.0, calibration=calibration)


TEXT = '<b>Ada</b> wrote it, "=1+1" in 1843.'
RIGHT, WRONG, FALSE, MISSED, LEFT_OUT = (
    Example("right", "", TEXT, "Who?", (Answer("Ada", 3), Answer("<b>Ada</b>", 0)), False),
    Example("wrong", "", TEXT, "When?", (Answer("1843", 31), Answer("in 1843", 28)), False),
    Example("false", "", TEXT, "Where?", (), True),
    Example("missed", "", TEXT, "What?", (Answer("it", 17),), False),
    Example("left out", "", TEXT, "Why?", (), True),
)
EXAMPLES = [RIGHT, WRONG, FALSE, MISSED, LEFT_OUT]
ANSWERS = {"right": "the Ada", "wrong": "1+1", "false": "Ada", "missed": ""}


def test_wrong_answers_are_listed_the_most_probable_first():
    listed = wrong_answers(EXAMPLES, ANSWERS, [(None, p) for p in (0.9, 0.2, 0.7, 0.4, 0.1)])
    assert [(w.id, w.expected, w.answered, w.before[-3:], w.marked, w.after[:3]) for w in listed] == [
        ("false", "no answer", "Ada", "<b>", "Ada", "</b"),
        ("missed", "it", "no answer", "te ", "it", ', "'),
        ("wrong", "1843 / in 1843", "1+1", "in ", "1843", "."),
        ("left out", "no answer", "", "43.", "", ""),
    ]


def test_an_answer_where_none_is_expected_is_marked_at_its_own_place():
    text = "It was 1843, not 1842. In 1843 she wrote."
    example = Example("false", "", text, "When?", (), True)
    for given, before in ((Candidate(1.0, 26, 30, 0.5), "In "), (None, "as ")):
        (wrong,) = wrong_answers([example], {"false": "1843"}, [(given, 0.5)])
        assert (wrong.before[-3:], wrong.marked) == (before, "1843")


def test_the_list_is_written_as_csv_and_as_html(tmp_path, capsys):
    data = write_examples(tmp_path / "data.json", EXAMPLES)
    predictions = tmp_path / "answers.json"
    predictions.write_text(json.dumps(ANSWERS))
    for name in ("errors.csv", "errors.html"):
        evaluate(EvaluateOptions(str(data), predictions=predictions, errors=tmp_path / name))
        assert ", 3 answered, 1 declined, 1 missing" in capsys.readouterr().out
    with open(tmp_path / "errors.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == ["wrong", "false", "missed", "left out"]
    assert rows[0]["passage"] == TEXT.replace("1843", ">>1843<<")
    assert rows[0]["probability"] == ""
    page = (tmp_path / "errors.html").read_text(encoding="utf-8")
    assert page.count("<article>") == 4
    assert "&lt;b&gt;<mark>Ada</mark>&lt;/b&gt; wrote" in page
    assert "<b>" not in page
    assert not re.search(r"<script|\bsrc=|http:|https:", page)


def test_a_list_of_errors_has_its_own_file_in_a_known_format(make_bundle, small_squad, tmp_path, monkeypatch):
    options = {"data": str(small_squad), "model": make_bundle(), "out": tmp_path / "answers.csv"}
    for name, wanted in (("errors.txt", "--errors must be a file in"), ("answers.csv", "another than --out")):
        with pytest.raises(OptionError, match=wanted):
            EvaluateOptions(**options, errors=tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="another than --out"):
        EvaluateOptions(**options, errors=Path("answers.csv"))
    data = tmp_path / "data.csv"
    data.write_text("question,context,answer\nWho?,Ada wrote it.,Ada\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(OptionError, match=r"--errors .*is an input"):
        evaluate(EvaluateOptions(str(data), make_bundle(), errors=data))


def test_named_data_are_scored_on_their_dev_part(make_bundle, tmp_path, monkeypatch):
    write_examples(tmp_path / "train.json", EXAMPLES)
    write_examples(tmp_path / "dev.json", EXAMPLES[:2])
    monkeypatch.setitem(datasets.SHIPPED, "embedded", str(tmp_path / "{}.json"))
    assert evaluate(EvaluateOptions("embedded", make_bundle()))["total"] == 2


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
