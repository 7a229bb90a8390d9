"""Comparing tiny bundles from end to end, and what is refused before anything is measured."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from compare_cli import run_cli
from comparisons import rebundle

from benchmarks import measure_and_show, resolve
from benchmarks.measure.conditions import this_host
from benchmarks.options import CompareOptions
from benchmarks.resolve import command_line
from benchmarks.results.files import read_results
from qa.bundles.bundle import MANIFEST

WRITE_REPORT = measure_and_show.write_report


@pytest.mark.system
def test_end_to_end(teacher, student, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure_and_show, "write_report", WRITE_REPORT)
    code = run_cli(monkeypatch, student, teacher, "--data", data, "--quick")
    captured = capsys.readouterr()
    assert code == 0, captured.err
    rows = read_results(tmp_path / "run" / "rows.jsonl")
    scores = rows[:2]
    latency = rows[2:]
    settings = {(row.model, row.lengths) for row in latency}
    assert settings == {(m, lengths) for m in ("teacher", "student") for lengths in ("unpadded", 128)}
    for row in latency:
        assert row.n_runs >= 64
        assert row.runtime.package == "torch"
        assert row.load_ms > 0
        assert row.peak_memory_mb > 10
        assert list(row.affinity) == this_host().cores_for(row.threads)
        assert row.latency_ms_p50 <= row.latency_ms_p90 <= row.latency_ms_p99
        assert str(tmp_path) not in str(row)
    teacher_scores, student_scores = scores
    assert (teacher_scores.n, teacher_scores.f1_retained, teacher_scores.baseline) == (2, 1.0, "teacher")
    assert teacher_scores.n_windows > 2
    assert teacher_scores.f1 > 0
    assert teacher_scores.f1_retained_low is None  # of itself it retains all
    assert student_scores.size_bytes == (student / "model.safetensors").stat().st_size
    assert student_scores.params == json.loads((student / MANIFEST).read_text())["parameters"]["total"]
    assert student_scores.same_answers_as == "teacher"
    assert student_scores.f1_retained == pytest.approx(student_scores.f1 / teacher_scores.f1)
    assert student_scores.f1_low is None, "two questions have no interval"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "student" in page
    assert str(tmp_path) not in page
    assert re.search(r"student +PyTorch +fp32", captured.out)


def test_the_command_on_a_page_makes_the_page_again(
    teacher, student, make_bundle, data, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    pages = []
    monkeypatch.setattr(measure_and_show, "write_report", lambda path, page: pages.append(page))
    other = rebundle(make_bundle(seed=2), tmp_path / "run" / "other")
    words = ("--data", data, "--skip-latency")
    assert run_cli(monkeypatch, other, teacher, *words) == 0
    assert run_cli(monkeypatch, student, "--baseline", teacher, *words) == 0
    assert pages[1].command.startswith(
        "python benchmarks/compare.py run/teacher run/student --data questions.json --rows"
    )
    assert run_cli(monkeypatch, *shlex.split(pages[1].command)[2:]) == 0
    assert pages[2].render() == pages[1].render()
    assert [e.model for e in pages[1].groups[0].entries] == ["teacher", "student"]


def test_without_arguments_the_demo_is_compared(teacher, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_cli(monkeypatch, "--skip-latency") == 2
    assert "holds no finished bundle to compare" in capsys.readouterr().err
    shutil.copytree(teacher, "runs/demo/teacher")
    (tmp_path / "runs/demo/unfinished").mkdir()
    damaged = shutil.copytree(teacher, "runs/demo/damaged")
    (tmp_path / damaged / "qa.json").write_text("{}")
    assert run_cli(monkeypatch, "--skip-latency", "--data", data) == 0
    captured = capsys.readouterr()
    assert "skipped: runs/demo/damaged/qa.json" in captured.err
    rows = read_results(tmp_path / "runs/demo/rows.jsonl")
    assert [row.model for row in rows] == ["teacher"]
    assert rows[0].command == "python benchmarks/compare.py --data questions.json --skip-latency"


def test_bad_input_is_refused_before_anything_is_measured(
    teacher, data, tmp_path, measured, monkeypatch, capsys
):
    empty = tmp_path / "empty"
    empty.mkdir()
    for words in ((teacher, empty), (teacher, tmp_path / "nowhere"), (teacher, "--baseline", empty)):
        assert run_cli(monkeypatch, *words, "--data", data) == 2
        assert capsys.readouterr().err.startswith("error: ")
    assert run_cli(monkeypatch, teacher, "--data", tmp_path / "nothing.json") == 2
    assert run_cli(monkeypatch, teacher, "--data", data, "--batch", "0") == 2
    for folder in (empty, "/"):
        assert run_cli(monkeypatch, teacher, "--data", data, "--rows", folder) == 2
        assert f"--rows {folder}: is a folder; give a file" in capsys.readouterr().err
    page = tmp_path / "report.html"
    assert run_cli(monkeypatch, teacher, "--data", data, "--rows", page) == 2
    assert f"--rows must be another file: the page is written to {page}" in capsys.readouterr().err
    odd = Path(os.fsdecode(os.fsencode(tmp_path / "b") + b"\xff"))
    shutil.copytree(teacher, odd)
    assert run_cli(monkeypatch, odd, "--data", data) == 2
    assert "is not UTF-8" in capsys.readouterr().err
    assert measured == []
    assert not page.exists()
    assert not (tmp_path / "run" / "rows.jsonl").exists()


def test_the_named_baseline_comes_first(teacher, make_bundle, data, tmp_path):
    other = rebundle(make_bundle(seed=2), tmp_path / "other" / "teacher", stage="finetune")
    run = resolve.run_here(CompareOptions((teacher,), str(data), baseline=other))
    assert [m.name for m in run.models] == ["other/teacher", "run/teacher"]
    assert run.baseline is run.models[0]


def test_command_line_has_no_absolute_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bundles = (tmp_path / "runs" / "my student",)
    data = str(tmp_path / "dev.json")
    config = CompareOptions(bundles, data, lengths=("unpadded", "128"), quick=True)
    script = "python benchmarks/compare.py"
    wanted = "'runs/my student' --data dev.json --quick --lengths unpadded 128"
    assert command_line(config) == f"{script} {wanted}"
    assert command_line(CompareOptions()) == script
    page = CompareOptions(rows=Path("a b.jsonl"), data="dev.json", report=True)
    assert command_line(page) == f"{script} --data dev.json --rows 'a b.jsonl' --report"
    reports = CompareOptions((Path("s"),), phone_report=(Path("a.json"), Path("b c.json")))
    assert command_line(reports) == f"{script} s --phone-report a.json 'b c.json'"
