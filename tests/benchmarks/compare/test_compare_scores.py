"""Scores of a comparison: reused, continued, compared with the parent, with intervals and overlap."""

import json
import re
import shutil
from dataclasses import replace

import pytest
from comparisons import rebundle, write_data
from stops import stop_at_part

from benchmarks.measure import accuracy
from benchmarks.measure.conditions import Host
from benchmarks.results.files import read_results
from benchmarks.results.rows import Machine
from export.onnx.exporter import export
from export.options import OnnxOptions
from qa.base.files import file_sha256
from qa.bundles.bundle import SETTINGS, open_bundle
from qa.data.squad import Answer, Example, read_squad
from qa.evaluation import predict as prediction


def test_accuracy_is_reused_for_the_same_bundle_data_and_runtime_only(
    teacher, scored, data, tmp_path, measured, monkeypatch, capsys
):
    first = scored(teacher)
    assert measured == ["teacher"]
    assert scored(teacher) == []
    assert measured == ["teacher"]
    assert "reused" in capsys.readouterr().err

    data.write_text(data.read_text() + "\n")  # the same questions, another file
    again = scored(teacher)
    assert measured == ["teacher"] * 2
    assert [row.f1 for row in again] == [row.f1 for row in first]
    monkeypatch.setattr(Host, "machine", Machine("Z80", 1))
    scored(teacher)
    assert measured == ["teacher"] * 3
    rows = tmp_path / "run" / "rows.jsonl"
    assert len(read_results(rows)) == 3
    rows.write_text(rows.read_text().replace('"version":"2', '"version":"1'))
    scored(teacher)
    assert measured == ["teacher"] * 4


def test_scoring_that_was_stopped_goes_on_with_the_questions_it_lacks(
    teacher, scored, data, tmp_path, monkeypatch
):
    monkeypatch.setattr(prediction, "PART_CHARACTERS", 1)
    seen = stop_at_part(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        scored(teacher)
    (row,) = scored(teacher)
    assert len(seen) == 1 + len(read_squad(data)) == 1 + row.n
    assert not (tmp_path / "run" / "rows.jsonl.journal").exists()


def test_scores_whose_answers_are_gone_are_computed_again(teacher, scored, tmp_path, measured):
    (first,) = scored(teacher)
    (answers,) = (tmp_path / "run" / "rows.predictions").iterdir()
    before = answers.read_bytes()
    answers.unlink()
    (again,) = scored(teacher)
    assert measured == ["teacher"] * 2
    assert (answers.read_bytes(), again.f1_low) == (before, first.f1_low)
    for n, text in enumerate((json.dumps(dict.fromkeys(json.loads(before), "of another machine")), "{"), 3):
        answers.write_text(text)
        scored(teacher)
        assert measured == ["teacher"] * n
        assert answers.read_bytes() == before


def test_scores_of_a_file_that_is_back_under_its_name_are_the_newest_again(
    teacher, make_bundle, scored, tmp_path, measured
):
    kept = shutil.copytree(teacher, tmp_path / "kept")
    other = rebundle(make_bundle(seed=1), tmp_path / "other", stage="finetune", precision="fp16")
    for source in (kept, other, kept):
        shutil.rmtree(teacher)
        shutil.copytree(source, teacher)
        scored(teacher)
    assert measured == ["teacher"] * 2, "nothing is computed twice"
    first, second, third = read_results(tmp_path / "run" / "rows.jsonl")
    assert first.bundle_sha256 == third.bundle_sha256 != second.bundle_sha256
    assert scored(teacher) == []


def test_answers_are_compared_with_those_of_the_parent_across_runs(teacher, make_bundle, scored, tmp_path):
    parent = rebundle(make_bundle(seed=1), tmp_path / "run" / "student")
    copy = rebundle(parent, tmp_path / "run" / "copy", parent=open_bundle(parent).reference())
    assert scored(copy)[0].same_answers is None
    scored(teacher, parent)
    assert [(row.same_answers, row.same_answers_as) for row in scored(teacher, copy)] == [(1.0, "student")]
    # What is known of it stays.
    (answers,) = (tmp_path / "run" / "rows.predictions").glob(f"{open_bundle(parent).sha256[:16]}-*")
    answers.write_text("{")
    assert [(row.same_answers, row.same_answers_as) for row in scored(copy)] == [(1.0, "student")]


def test_the_overlap_of_data_and_training_is_said_and_recorded(
    teacher, make_bundle, scored, data, tmp_path, capsys
):
    trained = {"name": data.name, "sha256": file_sha256(data)}
    tuned = rebundle(make_bundle(seed=1), tmp_path / "run" / "tuned", training_data=trained)
    rows = scored(teacher, tuned)
    assert [row.train_overlap for row in rows] == [None, 1.0]
    captured = capsys.readouterr()
    said = re.findall(r"(.*): train-test overlap: ([\d.%]+|unknown)", captured.err)
    assert said == [("teacher", "unknown"), ("tuned", "100.00%")]
    assert "tuned§" in captured.out


def test_scores_on_the_questions_of_the_thresholds_are_said_to_be_too_high(
    teacher, scored, data, tmp_path, capsys
):
    counts = {"n_questions": 2, "n_unanswerable": 0, "n_articles": 1, "resampled": "questions"}
    declined = {"id": "q3", "question": "When?", "answers": [], "is_impossible": True}
    paragraphs = json.loads(data.read_text())["data"][0]["paragraphs"]
    paragraphs[0]["qas"].append(declined)
    both = write_data(tmp_path / "both.json", paragraphs)
    names = ("tuned", "untuned", "answering")
    for name, file, threshold in zip(names, (both, data, both), (0.0, 0.0, None), strict=True):
        files = {
            "data": {"name": "q.json", "sha256": file_sha256(file)},
            "null_threshold_interval": (0.0, 1.0),
        }
        settings = replace(open_bundle(teacher).settings, null_threshold=threshold)
        settings.save(tmp_path / SETTINGS)
        new = {SETTINGS: (tmp_path / SETTINGS).read_bytes()}
        bundle = rebundle(teacher, tmp_path / "run" / name, new, tuning=counts | files)
        assert [row.tuned_on_data for row in scored(bundle, data=both)] == [name == "tuned"]
    captured = capsys.readouterr()
    assert {word for word in captured.out.split() if word.endswith("¶")} == {"¶", "tuned¶"}
    said = [line for line in captured.err.splitlines() if "tuned on these questions" in line]
    assert said == ["tuned: its thresholds are tuned on these questions, so its scores are too high"]


def test_results_of_a_table_have_its_own_name(teacher, scored, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    table = tmp_path / "mine.csv"
    table.write_text("question,context,answer\nWho?,Ada wrote it.,Ada\nWhen?,It rained on Monday.,Monday\n")
    (row,) = scored(teacher, data=table)
    assert (row.data.name, row.n) == ("mine.csv", 2)


def test_where_all_questions_have_an_answer_every_model_answers_always(
    tiny_export, make_bundle, scored, data, tmp_path, capsys
):
    out = tmp_path / "declining"
    declining = export(OnnxOptions(model=make_bundle(), out=out, quantize="fp32", null_threshold=-1e9)).path
    one, other = scored(tiny_export("onnx").path, declining, rows=tmp_path / "rows.jsonl")
    assert one.f1 == other.f1 > 0
    assert "every model answers always" in " ".join(capsys.readouterr().out.split())
    unanswerable = {"id": "q3", "question": "When?", "answers": [], "is_impossible": True}
    paragraphs = json.loads(data.read_text())["data"][0]["paragraphs"]
    paragraphs[0]["qas"].append(unanswerable)
    row = scored(declining, data=write_data(tmp_path / "with-unanswerable.json", paragraphs))[-1]
    assert (row.HasAns_f1, row.NoAns_f1, row.null_threshold) == (0.0, 100.0, -1e9)
    assert "every model answers always" not in capsys.readouterr().out


def test_em_and_f1_have_intervals_of_their_own():
    """Half of the answers are too short by a word: EM 50 and F1 83.3 of the baseline's 100."""
    examples = [Example(str(n), "t", "red fox", "who?", (Answer("red fox", 0),), False) for n in range(60)]
    right = {example.id: "red fox" for example in examples}
    fields = accuracy.answer_intervals(
        examples, {qid: text[: 7 - 4 * (int(qid) % 2)] for qid, text in right.items()}, right
    )
    for name, share in (("exact", 0.5), ("f1", (1 + 2 / 3) / 2)):
        low, high = fields[f"{name}_low"], fields[f"{name}_high"]
        assert low < 100 * share < high
        assert (fields[f"{name}_retained_low"], fields[f"{name}_retained_high"]) == pytest.approx(
            (low / 100, high / 100)
        )
    assert fields["exact_high"] < fields["f1_low"]
