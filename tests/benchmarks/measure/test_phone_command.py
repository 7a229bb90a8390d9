"""Logs of LiteRT's benchmark tool as results: the command, what it appends and shows, and what it refuses."""

from pathlib import Path

import pytest
from benchmark_results import on_phone, scored
from compare_cli import run_cli
from phone_logs import CURRENT, LOGGED_SIZE, LOGS, ONE_RUN, PIXEL, write

from benchmarks import compare
from benchmarks.compare import CompareConfig, command_line
from benchmarks.measure import accuracy
from benchmarks.results.rows import Failure, Machine, PhoneLatency, append_result, read_results
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle


@pytest.fixture
def student(make_export):
    return make_export("student-tflite-int8", 184_321)


@pytest.fixture
def rows_path(tmp_path):
    return tmp_path / "rows.jsonl"


def log_of(bundle, path, text=CURRENT):
    """A log as the tool would have printed it for this bundle's file."""
    printed = {"student-tflite-int8": "0.184321", "teacher-tflite-int8": "0.245678"}[bundle.name]
    return write(path, text.replace(LOGGED_SIZE, printed))


@pytest.fixture
def nothing_is_measured(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("measured on this machine")

    for name in ("evaluate", "load_runtime", "Worker"):
        monkeypatch.setattr(accuracy, name, refuse)
    monkeypatch.setattr(compare, "measure_latency", refuse)


@pytest.mark.usefixtures("nothing_is_measured")
def test_a_log_becomes_rows_a_table_and_part_of_the_report(
    student, make_export, rows_path, tmp_path, monkeypatch, capsys
):
    teacher = make_export("teacher-tflite-int8", 245_678)
    append_result(rows_path, scored())
    before = rows_path.read_bytes()
    of_teacher = ONE_RUN.replace("student-tf", "teacher-tf")
    logs = [log_of(student, tmp_path / "pixel8.log"), log_of(teacher, tmp_path / "t.log", of_teacher)]
    monkeypatch.chdir(tmp_path)
    code = run_cli(monkeypatch, student, teacher, "--phone-log", *logs, "--phone", PIXEL, "--rows", rows_path)
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert rows_path.read_bytes().startswith(before)
    first, second, third = read_results(rows_path)[1:]
    assert [(r.model, r.lengths, r.threads) for r in (first, second, third)] == [
        ("student-tflite-int8", 128, 1),
        ("student-tflite-int8", 384, 4),
        ("teacher-tflite-int8", 128, 1),
    ]
    assert isinstance(first, PhoneLatency)
    assert (first.bundle_sha256, first.precision, first.size_bytes) == (
        open_bundle(student).sha256,
        "int8",
        184_321,
    )
    assert (first.target, first.machine, first.data) == ("phone", Machine(PIXEL), None)
    assert first.command.endswith(f"--rows rows.jsonl --phone-log pixel8.log t.log --phone '{PIXEL}'")
    line = next(
        line
        for line in captured.out.splitlines()
        if line.startswith("student-tflite-int8") and " 128 " in line
    )
    assert (
        " ".join(line.split())
        == "student-tflite-int8 LiteRT + XNNPACK 0.2 128 1 18.1 18.9 18.2 24.9 55 41 51 45"
    )
    assert "dev.json" not in captured.out  # the CPU's table is not printed
    page = (tmp_path / "report.html").read_text()
    assert page.index("<h1>1 model on dev.json</h1>") < page.index(
        "<h2>2 models on Pixel 8, Android 16, Tensor G3</h2>"
    )


@pytest.mark.usefixtures("nothing_is_measured")
def test_a_failed_run_is_a_row_and_the_exit_code_says_so(student, rows_path, tmp_path, monkeypatch, capsys):
    text = (LOGS / "logcat.log").read_text()
    log = log_of(student, tmp_path / "logcat.log", text)
    assert run_cli(monkeypatch, student, "--phone-log", log, "--phone", PIXEL, "--rows", rows_path) == 1
    good, failed = read_results(rows_path)
    assert (good.lengths, isinstance(failed, Failure), failed.lengths) == (256, True, None)
    assert failed.error.startswith("no line 'Inference timings'")
    assert "student-tflite-int8 failed: no line 'Inference timings'" in capsys.readouterr().out


@pytest.mark.usefixtures("nothing_is_measured")
def test_nothing_is_appended_when_a_log_is_refused(
    student, make_bundle, rows_path, tmp_path, monkeypatch, capsys
):
    good = log_of(student, tmp_path / "good.log")
    other = write(tmp_path / "other.log", CURRENT)
    start = ("--phone", PIXEL, "--rows", rows_path, "--phone-log")
    for logs, message in (
        ((good, other), "other.log: line 2: "),
        ((good, tmp_path / "none.log"), "none.log: No such file"),
        ((tmp_path,), "Is a directory"),
    ):
        assert run_cli(monkeypatch, student, *start, *logs) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert message in error
        assert error.count("\n") == 1
    assert run_cli(monkeypatch, student, "--rows", rows_path, "--phone-log", good) == 2
    assert "--phone must be given with" in capsys.readouterr().err
    assert run_cli(monkeypatch, make_bundle(), *start, good) == 2
    assert "none of the bundles is a TFLite export" in capsys.readouterr().err
    assert not rows_path.exists()


@pytest.mark.parametrize("phone", ["", " ", "Pixel 8\nAndroid 16", "Pixel 8 "])
def test_the_phone_is_named_in_one_line(phone):
    with pytest.raises(OptionError, match=r"--phone must be in one line such as"):
        CompareConfig(phone_log=(Path("a.log"),), phone=phone)


def test_options_that_only_a_measurement_has_are_refused_with_a_log():
    given = {
        "data": "squad",
        "baseline": Path("x"),
        "quick": True,
        "threads": (1,),
        "peers": Path("x"),
        "skip_latency": True,
    }
    for option, value in given.items():
        with pytest.raises(
            OptionError, match=rf"--{option.replace('_', '-')} must be left out with --phone-log"
        ):
            CompareConfig(phone_log=(Path("a.log"),), phone=PIXEL, **{option: value})
    with pytest.raises(OptionError, match="--phone must be left out without --phone-log"):
        CompareConfig(phone=PIXEL)


def test_command_line_repeats_all_logs():
    config = CompareConfig((Path("s"),), phone_log=(Path("a.log"), Path("b c.log")), phone="Pixel 8")
    assert (
        command_line(config) == "python benchmarks/compare.py s --phone-log a.log 'b c.log' --phone 'Pixel 8'"
    )


def test_an_ordinary_comparison_goes_on_beside_rows_of_a_phone(
    make_bundle, small_squad, rows_path, monkeypatch, capsys
):
    bundle = make_bundle()
    append_result(rows_path, on_phone(bundle_sha256=open_bundle(bundle).sha256))
    append_result(rows_path, on_phone("elsewhere"))
    reported = []
    monkeypatch.setattr("benchmarks.compare.write_report", lambda path, page: reported.extend(page.groups))
    config = CompareConfig((bundle,), str(small_squad), skip_latency=True, rows=rows_path)
    assert len(compare.main(config)) == 1
    assert compare.main(config) == []
    assert [(group.machine == PIXEL, len(group.results)) for group in reported[:2]] == [(False, 1), (True, 1)]
    assert PIXEL not in capsys.readouterr().out  # latencies are not shown with --skip-latency
