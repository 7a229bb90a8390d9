"""The app's benchmark as results: the example is JSON that the app wrote on a JVM with LiteRT 1.4
(golden/).
"""

import json

import pytest
from benchmark_results import PIXEL, on_phone, scored
from compare_cli import run_cli
from places import GOLDEN

from benchmarks import measure_and_show
from benchmarks.measure.models import find_models
from benchmarks.measure.phone_report import (
    PhoneReportError,
    read_report,
    report_machine,
    report_results,
)
from benchmarks.options import CompareOptions
from benchmarks.results.files import append_result, read_results
from benchmarks.results.rows import Failure, PhoneLatency, PhoneQuestions, Runtime
from qa.bundles.bundle import open_bundle

EXAMPLE = GOLDEN / "phone_report.json"
RUN = {"command": "c", "date": "2026-11-22T00:00:00Z"}
N_RUNS = 50
N_WARMUP = 5


@pytest.fixture
def example():
    return json.loads(EXAMPLE.read_bytes())


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def changed(path, example, **fields):
    return write(path, json.dumps(example | fields))


@pytest.fixture
def rows_path(tmp_path):
    return tmp_path / "rows.jsonl"


@pytest.fixture
def bundle(make_export):
    return make_export("student-tflite-int8", 1234)


@pytest.fixture
def report(bundle, example, tmp_path):
    """The example, as if this bundle's file had been measured."""
    sha256 = json.loads((bundle / "manifest.json").read_bytes())["files"]["model.tflite"]
    return changed(tmp_path / "pixel.json", example, model=example["model"] | {"sha256": sha256})


@pytest.fixture
def results(bundle, report):
    """A function: the results of the report, with changes."""

    def of(**changes):
        changed(report, json.loads(report.read_text()), **changes)
        return report_results(report, find_models((bundle,)), RUN)

    return of


def test_every_signature_and_number_of_threads_is_a_result(example, results):
    found = results()
    windows = [one for one in found if isinstance(one, PhoneLatency)]
    asked = [one for one in found if isinstance(one, PhoneQuestions)]
    assert len(found) == len(windows) + len(asked)
    assert [(one.lengths, one.threads) for one in windows] == [
        (part["length"], part["threads"]) for part in example["windows"]
    ]
    assert [one.threads for one in asked] == [1, 2]
    assert {one.model for one in found} == {"student-tflite-int8"}
    assert found[0].machine == report_machine(read_report(EXAMPLE))
    assert found[0].runtime == Runtime("LiteRT", "1.4.0", "+ XNNPACK")


def test_figures_are_those_of_the_runs(example, results):
    found = results()
    part = example["windows"][0]
    one = found[0]
    times = sorted(part["times_ns"])
    assert (one.n_runs, one.n_warmup, len(times)) == (N_RUNS, N_WARMUP, N_RUNS)
    assert one.latency_ms_p50 == round(times[24] / 1e6, 4)  # the 25th of 50
    assert one.latency_ms_p95 == round(times[47] / 1e6, 4)  # the 48th
    assert one.latency_ms_mean == pytest.approx(sum(times) / 50e6, abs=1e-4)
    assert one.latency_ms_first == round(part["warmup_ns"][0] / 1e6, 4)
    assert one.load_ms == pytest.approx(part["load_ns"] / 1e6, abs=1e-4)
    assert one.memory_growth_mb == round(
        (part["memory_bytes_after"] - part["memory_bytes_before_load"]) / 1e6, 1
    )
    assert one.thermal_status is None  # a JVM has none
    part = example["questions"][0]
    asked = next(r for r in found if isinstance(r, PhoneQuestions))
    assert asked.n == len(part["times_ns"]) == 28
    assert asked.n_windows == part["windows"] >= 28
    parts = asked.tokenize_ms_mean + asked.inference_ms_mean + asked.decode_ms_mean
    assert asked.latency_ms_mean == pytest.approx(parts, abs=1e-3)


def test_the_worse_thermal_status_is_kept(example, results):
    first = example["windows"][0] | {"thermal_before": 2, "thermal_after": 0, "memory_bytes_after": None}
    one = results(windows=[first])[0]
    assert (one.thermal_status, one.memory_growth_mb) == (2, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "report format 2, but 1 is supported"),
        ({"format": "another"}, "not a complete benchmark report of the app .*format"),
        ({"windows": [{}]}, "not a complete benchmark report.*; share it from the app again"),
        ({"windows": json.loads("[" * 900 + "]" * 900)}, "not a complete benchmark report"),
        ({"surprise": 1}, "surprise"),
        ({"windows": [], "questions": []}, "has no measurements"),
        *(({"times_ns": times}, "times_ns") for times in ([], [0], [-1], [1.5], [2**63], [10**400])),
    ],
)
def test_what_is_no_report_is_named(change, message, example, tmp_path):
    if "times_ns" in change:
        change = {"windows": [example["windows"][0] | change]}
    with pytest.raises(PhoneReportError, match=message):
        read_report(changed(tmp_path / "a.json", example, **change))


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("measured on this machine")

    monkeypatch.setattr(measure_and_show, "write_report", lambda path, page: None)
    monkeypatch.setattr(measure_and_show, "measure_latency", refuse)


def test_a_report_becomes_results_and_tables(bundle, report, example, rows_path, monkeypatch, capsys):
    append_result(rows_path, scored())
    before = rows_path.read_bytes()
    assert run_cli(monkeypatch, bundle, "--phone-report", report, "--rows", rows_path) == 0
    out = capsys.readouterr().out
    assert f"Whole questions, {report_machine(read_report(report))}" in out
    assert "timed by the app on the phone" in out
    assert "dev.json" not in out  # the CPU's table is not printed
    assert rows_path.read_bytes().startswith(before)
    new = read_results(rows_path)[1:]
    assert len(new) == len(example["windows"]) + len(example["questions"])
    assert all(one.machine == report_machine(read_report(report)) for one in new)
    assert (new[0].bundle_sha256, new[0].target, new[0].data) == (open_bundle(bundle).sha256, "phone", None)
    assert "--phone-report" in new[0].command
    assert run_cli(monkeypatch, "--report", "--rows", rows_path) == 0
    assert f"Whole questions, {report_machine(read_report(report))}" in capsys.readouterr().out
    append_result(rows_path.with_name("again.jsonl"), new[-1])
    assert read_results(rows_path.with_name("again.jsonl")) == [new[-1]]


def test_the_newest_of_several_reports_counts_in_whatever_order_they_are_given(
    bundle, report, rows_path, monkeypatch
):
    now = json.loads(report.read_text())
    slow = [part | {"times_ns": [10 * time for time in part["times_ns"]]} for part in now["windows"]]
    earlier = {"windows": slow, "began_unix_ms": now["began_unix_ms"] - 1}
    before = changed(report.with_name("before.json"), now, **earlier)
    assert run_cli(monkeypatch, bundle, "--phone-report", report, before, "--rows", rows_path) == 0
    means = [one.latency_ms_mean for one in read_results(rows_path) if isinstance(one, PhoneLatency)]
    assert means[0] > means[len(slow)]


def test_a_failed_run_is_a_result_and_the_exit_code_says_so(bundle, report, rows_path, monkeypatch, capsys):
    content = json.loads(report.read_text())
    changed(report, content, failures=[{"threads": 4, "error": "no kernel"}], windows=[], questions=[])
    assert run_cli(monkeypatch, bundle, "--phone-report", report, "--rows", rows_path) == 1
    (only,) = read_results(rows_path)
    assert (type(only), only.threads, only.error) == (Failure, 4, "no kernel")
    assert "student-tflite-int8 (threads 4) failed: no kernel" in capsys.readouterr().out


def test_nothing_is_appended_when_a_report_is_refused(
    bundle, report, make_bundle, rows_path, tmp_path, monkeypatch, capsys
):
    start = ("--rows", rows_path, "--phone-report")
    for paths, message in (
        ((report, EXAMPLE), "is not the model.tflite of student-tflite-int8; name the bundle whose file is"),
        ((report, tmp_path / "none.json"), "none.json: No such file"),
        ((tmp_path,), "Is a directory"),
    ):
        assert run_cli(monkeypatch, bundle, *start, *paths) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert message in error
        assert error.count("\n") == 1
    assert run_cli(monkeypatch, make_bundle(), *start, report) == 2
    assert "none of the bundles is a TFLite export" in capsys.readouterr().err
    assert not rows_path.exists()


def test_an_ordinary_comparison_goes_on_beside_results_of_a_phone(
    make_bundle, small_squad, rows_path, monkeypatch, capsys
):
    bundle = make_bundle()
    append_result(rows_path, on_phone(bundle_sha256=open_bundle(bundle).sha256))
    append_result(rows_path, on_phone("elsewhere"))
    reported = []
    monkeypatch.setattr(measure_and_show, "write_report", lambda path, page: reported.extend(page.groups))
    config = CompareOptions((bundle,), str(small_squad), skip_latency=True, rows=rows_path)
    assert len(measure_and_show.measure(config)) == 1
    assert measure_and_show.measure(config) == []
    on_phones = [(group.machine == str(PIXEL), len(group.results)) for group in reported[:2]]
    assert on_phones == [(False, 1), (True, 1)]
    assert str(PIXEL) not in capsys.readouterr().out  # latencies are not shown with --skip-latency
