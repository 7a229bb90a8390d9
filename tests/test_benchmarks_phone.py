"""Logs of LiteRT's benchmark tool as rows: every form it prints, whose file it measured, failures, and the phone's own table."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_benchmarks_table import row as cpu_row

from benchmarks import compare, measure
from benchmarks.compare import CompareConfig, command, command_line
from benchmarks.phone import PhoneLogError, owner, phone_rows, read_runs
from benchmarks.report.page import Page
from benchmarks.report.tables import MODEL_COLUMNS, model_lines, sortable
from benchmarks.rows import KEYS, RowsError, append_row, make_row, read_rows
from benchmarks.table import TableConfig, main
from benchmarks.views.cells import UNKNOWN
from benchmarks.views.groups import collect, newest_order
from benchmarks.views.latency import newest_on_phone
from benchmarks.views.tables import view_tables
from qa.bundle import new_bundle, open_bundle
from qa.cli import run_command
from qa.errors import OptionError

# Who printed what, and after which sources these were written, stands in the README beside them.
LOGS = Path(__file__).parent / "golden" / "benchmark_logs"
CURRENT = (LOGS / "current.log").read_text(encoding="utf-8")
N_BYTES, LOGGED_SIZE = 18_934_161, "18.9342"  # of the file in all of them, in MB of 1e6 bytes with six digits
ONE_RUN = CURRENT[: CURRENT.rindex("INFO: STARTING!")]
PIXEL = "Pixel 8, Android 16, Tensor G3"


@pytest.fixture
def make_export(make_bundle, tmp_path):
    """A function: a TFLite bundle of that name with a weights file of that many bytes."""

    def make(name, n_bytes):
        parent = open_bundle(make_bundle())
        with new_bundle(tmp_path / "run" / name, {"kind": "tflite", "precision": "int8", "stage": "export"}) as draft:
            (draft / "qa.json").write_bytes((parent.path / "qa.json").read_bytes())
            (draft / "model.tflite").write_bytes(bytes(n_bytes))
        return tmp_path / "run" / name

    return make


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


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def subject(name, size_bytes, folder="/runs"):
    """As much of a subject as its owner is found by."""
    return SimpleNamespace(facts={"model": name, "size_bytes": size_bytes}, bundle=SimpleNamespace(path=Path(folder, name)))


def run_cli(monkeypatch, *words):
    """Exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["compare", *map(str, words)])
    try:
        run_command(CompareConfig, command)
    except SystemExit as stop:
        return stop.code
    return 0


# What a log says


def test_current_form_with_several_runs_in_one_file():
    first, second = read_runs(LOGS / "current.log")
    assert first.where == f"{LOGS / 'current.log'}: line 2"
    assert (first.graph, first.size_mb, first.signature, first.threads, first.error) == (
        "/data/local/tmp/student-tflite-int8.tflite", 18.9342, "qa128", 1, None,
    )  # fmt: skip
    assert first.runtime == "LiteRT benchmark_model + XNNPACK"
    # Microseconds / 1000; memory times 1.048576: 48.5 -> 50.856, 42.75 -> 44.827.
    assert first.figures == {
        "latency_ms_p50": 18.142, "latency_ms_p95": 18.89, "latency_ms_mean": 18.2047, "latency_ms_std": 0.301,
        "latency_ms_first": 24.87, "n_runs": 55, "n_warmup": 27, "load_ms": 41.3,
        "peak_memory_mb": 50.9, "memory_growth_mb": 44.8,
    }  # fmt: skip
    assert (second.signature, second.threads, second.input_shapes) == ("qa384", 4, None)
    assert second.figures == {
        "latency_ms_p50": 1039.807, "latency_ms_p95": 1047.415, "latency_ms_mean": 1040.27, "latency_ms_std": 2.565,
        "latency_ms_first": 1098.765, "n_runs": 50, "n_warmup": 1, "load_ms": 43.9, "memory_growth_mb": 67.1,
    }  # fmt: skip


def test_old_form_has_a_mean_but_no_percentiles():
    (run,) = read_runs(LOGS / "old.log")
    assert (run.size_mb, run.signature, run.threads, run.runtime) == (18.9342, None, 2, "LiteRT benchmark_model + GPU")
    assert run.figures == {
        "latency_ms_mean": 266.473, "latency_ms_std": 0.419, "latency_ms_first": 339.304,
        "n_runs": 50, "n_warmup": 2, "load_ms": 20.3, "memory_growth_mb": 37.7,
    }  # fmt: skip


def test_logcat_form_without_a_first_line():
    first, second = read_runs(LOGS / "logcat.log")
    assert (first.signature, first.threads, first.figures["latency_ms_p50"], first.figures["n_runs"]) == ("qa256", 4, 31.253, 33)
    assert second.threads is None
    assert second.figures == {}
    assert "Pass one of the following" in second.error
    assert "#> Signature key: qa256" in second.error


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("line_end", ["\r\n", "\r\r\n"])
def test_what_windows_makes_of_a_log_is_read_alike(tmp_path, encoding, line_end):
    path = tmp_path / "windows.log"
    path.write_bytes(CURRENT.replace("\n", line_end).encode(encoding))
    plain, windows = read_runs(LOGS / "current.log"), read_runs(path)
    assert [run.figures for run in windows] == [run.figures for run in plain]
    assert [run.signature for run in windows] == ["qa128", "qa384"]


def test_equal_times_and_a_single_run(tmp_path):
    for count, curr in ((2, "18111(all same)"), (1, "18111")):
        text = re.sub(r"count=55 .*", f"count={count} curr={curr} p5=18111 median=18111 p95=18111", ONE_RUN)
        (run,) = read_runs(write(tmp_path / "same.log", text.replace("Inference (avg): 18204.7", "Inference (avg): 18111")))
        figures = run.figures
        assert (figures["n_runs"], figures["latency_ms_p50"], figures["latency_ms_mean"]) == (count, 18.111, 18.111)
        assert "latency_ms_std" not in figures


def test_an_operator_profile_and_earlier_timings_are_not_taken_for_the_result(tmp_path):
    profile = "Timings (microseconds): count=999 first=1 curr=1 min=1 max=1 avg=1 std=1\nMemory (bytes): count=0\n"
    earlier = "INFO: Inference timings in us: Init: 1, First inference: 1, Warmup (avg): 1, Inference (avg): 1\n"
    text = ONE_RUN.replace("INFO: Inference timings", f"{profile}{earlier}INFO: Inference timings") + profile
    (run,) = read_runs(write(tmp_path / "profile.log", text))
    assert [run.figures[key] for key in ("n_runs", "latency_ms_p50", "latency_ms_mean")] == [55, 18.142, 18.2047]


def test_parameters_of_a_next_run_that_lacks_its_first_lines_are_not_taken(tmp_path):
    lines = [line for line in ONE_RUN.splitlines(keepends=True) if "STARTING" not in line and "verbosely" not in line]
    without = "".join(line for line in lines if "hreads" not in line)
    first, second = read_runs(write(tmp_path / "a.log", without + "".join(lines)))
    assert (first.threads, second.threads) == (None, 1)
    assert [len(run.figures) for run in (first, second)] == [10, 10]


@pytest.mark.parametrize(
    ("line", "runtime"),
    [
        ("INFO: Use xnnpack: [0]", "LiteRT benchmark_model + built-in kernels"),
        ("INFO: Use gpu: [1]", "LiteRT benchmark_model"),
        (
            "INFO: Though GPU delegate is explicitly applied, the model graph will not be executed by the delegate.",
            "LiteRT benchmark_model",
        ),
        (
            "INFO: Use xnnpack: [1]\nINFO: xnnpack_force_fp16: [1]\n"
            "INFO: Explicitly applied XNNPACK delegate, and the model graph will be completely executed by the delegate.",
            "LiteRT benchmark_model + XNNPACK + fp16 forced",
        ),
    ],
)
def test_the_runtime_is_what_the_log_proves(tmp_path, line, runtime):
    text = ONE_RUN.replace("INFO: Created TensorFlow Lite XNNPACK delegate for CPU.", line)
    assert read_runs(write(tmp_path / "a.log", text))[0].runtime == runtime


def test_threads_left_to_the_runtime_are_not_known(tmp_path):
    text = "".join(line for line in ONE_RUN.splitlines(keepends=True) if "hreads" not in line)
    assert read_runs(write(tmp_path / "a.log", text))[0].threads is None
    for left in ("[-1]", "[0]"):
        text = ONE_RUN.replace("CPU inference: [1]", f"CPU inference: {left}").replace("Num threads: [1]", f"Num threads: {left}")
        assert read_runs(write(tmp_path / "b.log", text))[0].threads is None


# Runs that failed, and files that are no logs


TIMED = "INFO: Inference timings in us"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (ONE_RUN + "ERROR: Node number 7 (XNN) failed to invoke.\nERROR: Benchmarking failed.\n", "failed: Node number 7"),
        (ONE_RUN[: ONE_RUN.index("INFO: The input model")] + "ERROR: Benchmarking failed.\n", "does not say why"),
        (ONE_RUN[: ONE_RUN.index(TIMED)], "no line 'Inference timings'.*cut off or the tool crashed; run it again"),
        (ONE_RUN[: ONE_RUN.index(" 18204.7\nINFO: Note")] + " 182", "no line 'Inference timings'"),  # 182 of 18204.7
        (ONE_RUN.replace("Inference (avg): 18204.7", "Inference (avg): nan"), "the mean time is nan"),
        (ONE_RUN.replace("count=55 first=18230", "count=0 p5=0"), r"no run was timed \(count=0\)"),
    ],
)  # fmt: skip
def test_a_run_that_failed_has_an_error_and_no_figures(tmp_path, text, error):
    (run,) = read_runs(write(tmp_path / "failed.log", text))
    assert run.figures == {}
    assert re.search(error, run.error)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"a\.log: holds no run of LiteRT's benchmark tool.*android_aarch64_benchmark_model"),
        (b"adb: no devices/emulators found\n", "holds no run"),
        (b"PK\3\4\0\0junk", r"a\.log: not a text file"),
        (b"\xff\xfe\x00", "holds no run"),
        (b"I tflite  : Inference timings in us: Init: 5685, First inference: 18535, Warmup (avg): 1, Inference (avg): 14575.2\n",
         r"a\.log: line 1: no line 'Graph: \[\.\.\.\]'.*keep the whole output"),
        (b"STARTING!\nERROR: Please specify the name of your TF Lite input file with --graph\nERROR: Benchmarking failed.\n",
         r"line 1: no line 'Graph.*Please specify the name"),
        (ONE_RUN.replace(TIMED, "========== BENCHMARK RESULTS ==========\nINFO: x").encode(), "log of the CompiledModel"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_log_is_named(tmp_path, content, message):
    path = tmp_path / "a.log"
    path.write_bytes(content)
    with pytest.raises(PhoneLogError, match=message):
        read_runs(path)


# Whose file was measured


def logged(tmp_path, graph="/data/local/tmp/model.tflite", size=LOGGED_SIZE, text=ONE_RUN):
    text = text.replace("/data/local/tmp/student-tflite-int8.tflite", graph).replace(LOGGED_SIZE, size)
    return read_runs(write(tmp_path / "a.log", text))[0]


def test_the_size_to_six_digits_tells_the_bundle(tmp_path):
    # 18,934,161 bytes are 18.934161 MB, of which six digits are 18.9342.
    subjects = [subject("teacher", 24_474_038), subject("student", 18_934_161), subject("pruned", 16_724_401)]
    assert owner(logged(tmp_path), subjects) is subjects[1]
    assert owner(logged(tmp_path, size="24.474"), subjects) is subjects[0]
    for size in ("18.9341", "18.9343", "18.0569"):  # the last is the student's in 2^20 bytes
        with pytest.raises(PhoneLogError, match=rf"{size} MB was measured, which is not.*student \(18\.9342 MB\)"):
            owner(logged(tmp_path, size=size), subjects)


def test_bundles_of_one_size_are_told_by_the_name_on_the_phone(tmp_path):
    twins = [subject("one", 18_934_161), subject("two", 18_934_170)]
    assert owner(logged(tmp_path, "/data/local/tmp/two.tflite"), twins) is twins[1]
    assert owner(logged(tmp_path, "/data/local/tmp/one/model.tflite"), twins) is twins[0]
    with pytest.raises(PhoneLogError, match=r"may be one, two; name one of them only, or push"):
        owner(logged(tmp_path), twins)


def test_a_name_that_contradicts_the_size_is_refused(tmp_path):
    subjects = [subject("teacher", 24_474_038), subject("student", 18_934_161)]
    with pytest.raises(PhoneLogError, match=r"teacher\.tflite of 18\.9342 MB was measured"):
        owner(logged(tmp_path, "/data/local/tmp/teacher.tflite"), subjects)


def test_without_a_size_only_a_failed_run_of_a_known_name_has_an_owner(tmp_path):
    failed = ONE_RUN[: ONE_RUN.index("INFO: The input model")]
    failed += "ERROR: Failed to allocate tensors!\nERROR: Benchmarking failed.\n"
    subjects = [subject("teacher", 24_474_038), subject("student", 18_934_161)]
    assert owner(logged(tmp_path, "/data/local/tmp/teacher.tflite", text=failed), subjects) is subjects[0]
    assert owner(logged(tmp_path, text=failed), subjects[:1]) is subjects[0]
    for graph, known in (("/model.tflite", subjects), ("/sdcard/other.tflite", subjects[:1])):
        with pytest.raises(PhoneLogError, match=r"failed before it told the file's size.*Failed to allocate tensors!"):
            owner(logged(tmp_path, graph, text=failed), known)
    with pytest.raises(PhoneLogError, match="no line 'The input model file size"):
        owner(logged(tmp_path, text=ONE_RUN.replace("INFO: The input model", "INFO: x")), subjects[:1])


def lengths_in(log):
    return [row.get("lengths") for row in phone_rows(log, [subject("student", N_BYTES)])]


def test_lengths_are_those_of_the_signature(tmp_path):
    path = tmp_path / "a.log"
    assert lengths_in(LOGS / "current.log") == [128, 384]
    assert lengths_in(LOGS / "old.log") == [None]
    only = ONE_RUN.replace("Signature to run: [qa128]", "Signature to run: []")  # of a file with one signature
    assert lengths_in(write(path, only)) == [128]
    assert lengths_in(write(path, ONE_RUN.replace("qa128", "serving_default"))) == [None]
    resized = ONE_RUN.replace("[1,128:1,128:1,128]", "[1,64:1,64:1,64]")
    with pytest.raises(PhoneLogError, match=r"input shapes 1,64:1,64:1,64 are not those of qa128.*shape=1,128:1,128:1,128"):
        lengths_in(write(path, resized))
    assert lengths_in(write(path, resized + "ERROR: Benchmarking failed.\n")) == [128]


# The command


@pytest.fixture
def nothing_is_measured(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("measured on this machine")

    for name in ("measure_accuracy", "load_runtime", "Worker"):
        monkeypatch.setattr(measure, name, refuse)
    monkeypatch.setattr(compare, "measure_latency", refuse)


@pytest.mark.usefixtures("nothing_is_measured")
def test_a_log_becomes_rows_a_table_and_part_of_the_report(student, make_export, rows_path, tmp_path, monkeypatch, capsys):
    teacher = make_export("teacher-tflite-int8", 245_678)
    append_row(rows_path, cpu_row(ms=(100, 110, 120, 102)))
    before = rows_path.read_bytes()
    of_teacher = ONE_RUN.replace("student-tf", "teacher-tf")
    logs = [log_of(student, tmp_path / "pixel8.log"), log_of(teacher, tmp_path / "t.log", of_teacher)]
    monkeypatch.chdir(tmp_path)
    code = run_cli(monkeypatch, student, teacher, "--phone-log", *logs, "--phone", PIXEL, "--rows", rows_path)
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert rows_path.read_bytes().startswith(before)
    first, second, third = read_rows(rows_path)[1:]
    assert [(r["model"], r["lengths"], r["threads"]) for r in (first, second, third)] == [
        ("student-tflite-int8", 128, 1), ("student-tflite-int8", 384, 4), ("teacher-tflite-int8", 128, 1),
    ]  # fmt: skip
    assert {key: first[key] for key in ("bundle_sha256", "stage", "precision", "size_bytes", "target", "machine", "batch")} == {
        "bundle_sha256": open_bundle(student).sha256, "stage": "export", "precision": "int8",
        "size_bytes": 184_321, "target": "phone", "machine": PIXEL, "batch": 1,
    }  # fmt: skip
    assert not {"data", "f1", "exact", "n", "baseline", "f1_retained", "latency_ms_p90", "latency_ms_p99"} & set(first)
    assert first["command"].endswith(f"--rows rows.jsonl --phone-log pixel8.log t.log --phone '{PIXEL}'")
    line = next(line for line in captured.out.splitlines() if line.startswith("student-tflite-int8") and " 128 " in line)
    assert " ".join(line.split()) == "student-tflite-int8 LiteRT + XNNPACK 0.2 128 1 18.1 18.9 18.2 24.9 55 41 51 45"
    assert "dev.json" not in captured.out  # the CPU's table is not printed
    page = (tmp_path / "report.html").read_text()
    assert page.index("<h1>1 model on dev.json</h1>") < page.index("<h2>2 models on Pixel 8, Android 16, Tensor G3</h2>")


@pytest.mark.usefixtures("nothing_is_measured")
def test_a_failed_run_is_a_row_and_the_exit_code_says_so(student, rows_path, tmp_path, monkeypatch, capsys):
    text = (LOGS / "logcat.log").read_text()
    log = log_of(student, tmp_path / "logcat.log", text)
    assert run_cli(monkeypatch, student, "--phone-log", log, "--phone", PIXEL, "--rows", rows_path) == 1
    good, failed = read_rows(rows_path)
    assert (good["status"], good["lengths"]) == ("ok", 256)
    assert failed["status"].startswith("no line 'Inference timings'")
    assert "latency_ms_mean" not in failed
    assert "lengths" not in failed
    assert "student-tflite-int8 failed: no line 'Inference timings'" in capsys.readouterr().out


@pytest.mark.usefixtures("nothing_is_measured")
def test_nothing_is_appended_when_a_log_is_refused(student, make_bundle, rows_path, tmp_path, monkeypatch, capsys):
    good, other = log_of(student, tmp_path / "good.log"), write(tmp_path / "other.log", CURRENT)
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
    assert run_cli(monkeypatch, make_bundle(), *start, good) == 2
    assert "none of the bundles is a TFLite export" in capsys.readouterr().err
    assert not rows_path.exists()


@pytest.mark.parametrize("phone", [None, "", " ", "Pixel 8\nAndroid 16", "Pixel 8 "])
def test_the_phone_is_named_in_one_line(phone):
    with pytest.raises(OptionError, match=r"--phone must be given with --phone-log, in one line"):
        CompareConfig(phone_log=(Path("a.log"),), phone=phone)


def test_options_that_only_a_measurement_has_are_refused_with_a_log():
    given = {"data": "squad", "baseline": Path("x"), "quick": True, "threads": (1,), "peers": Path("x"), "skip_latency": True}
    for option, value in given.items():
        with pytest.raises(OptionError, match=rf"--{option.replace('_', '-')} must be left out with --phone-log"):
            CompareConfig(phone_log=(Path("a.log"),), phone=PIXEL, **{option: value})
    with pytest.raises(OptionError, match="--phone must be left out without --phone-log"):
        CompareConfig(phone=PIXEL)


def test_command_line_repeats_all_logs():
    config = CompareConfig((Path("s"),), phone_log=(Path("a.log"), Path("b c.log")), phone="Pixel 8")
    assert command_line(config) == "python benchmarks/compare.py s --phone-log a.log 'b c.log' --phone 'Pixel 8'"


def test_an_ordinary_comparison_goes_on_beside_rows_of_a_phone(make_bundle, small_squad, rows_path, monkeypatch, capsys):
    bundle = make_bundle()
    append_row(rows_path, phone_row(bundle_sha256=open_bundle(bundle).sha256))
    append_row(rows_path, phone_row("elsewhere"))
    reported = []
    monkeypatch.setattr("benchmarks.report.page.write_report", lambda path, page: reported.extend(page.groups))
    config = CompareConfig((bundle,), str(small_squad), skip_latency=True, rows=rows_path)
    assert len(compare.main(config)) == 1
    assert compare.main(config) == []
    assert [(group.machine == PIXEL, len(group.rows)) for group in reported[:2]] == [(False, 1), (True, 1)]
    assert PIXEL not in capsys.readouterr().out  # latencies are not shown with --skip-latency


# The phone's table


def phone_row(model="int8", ms=18.0, **more):
    """A row of a phone; None takes a key away."""
    values = {
        "model": model, "bundle_sha256": f"sha of {model}", "stage": "export", "precision": "int8",
        "runtime": "LiteRT benchmark_model + XNNPACK", "target": "phone", "machine": PIXEL,
        "threads": 1, "batch": 1, "lengths": 384, "size_bytes": 18_934_161,
        "latency_ms_p50": ms, "latency_ms_p95": ms + 1, "latency_ms_mean": ms + 0.5, "n_runs": 50,
        "command": "python benchmarks/compare.py", "date": "2026-01-01T00:00:00Z", "status": "ok",
    }  # fmt: skip
    return {key: value for key, value in (values | more).items() if value is not None}


NO_FIGURES = dict.fromkeys(("latency_ms_p50", "latency_ms_p95", "latency_ms_mean", "n_runs"))


def lines(rows):
    (table,) = view_tables(collect(rows), "latency")
    return [dict(zip(table.headings, line, strict=True)) for line in table.cells]


def test_rows_of_a_phone_do_not_change_the_tables_of_the_cpu():
    cpu = [cpu_row(ms=(100, 110, 120, 102)), cpu_row("int8", ms=(20, 22, 24, 20.4), lengths="real", bundle_sha256="sha of int8")]
    cpu.append(cpu_row("student", ms=(9, 9, 9, 9), bundle_sha256="sha of student"))
    mixed = [phone_row(), cpu[0], phone_row("teacher", lengths=128), *cpu[1:], phone_row()]
    for view in ("summary", "latency", "accuracy"):
        mixed_groups, cpu_groups = (collect(rows, newest_order(rows)) for rows in (mixed, cpu))
        assert view_tables(mixed_groups, view)[0] == view_tables(cpu_groups, view)[0]
    assert [table.title for table in view_tables(collect(mixed), "latency")] == ["dev.json, 1,000 questions", PIXEL]
    assert len(view_tables(collect(mixed), "summary")) == 1
    of_mixed, of_cpu = (sortable(model_lines(collect(r)[:1], [{}]), MODEL_COLUMNS, None, "") for r in (mixed, cpu))
    assert of_mixed == of_cpu


def test_each_phone_has_a_table_with_what_is_known():
    of_old_tool = phone_row("old", latency_ms_p50=None, latency_ms_p95=None, threads=None)
    rows = [phone_row(), phone_row(machine="Galaxy S24"), of_old_tool]
    first, second = view_tables(collect(rows), "latency")
    assert (first.title, second.title) == (PIXEL, "Galaxy S24")
    assert [len(table.cells) for table in (first, second)] == [2, 1]
    old = dict(zip(first.headings, first.cells[1], strict=True))
    assert (old["model"], old["mean ms"]) == ("old", "18.5")
    assert {old[heading] for heading in ("p50 ms", "p95 ms", "threads", "load ms", "peak MB")} == {UNKNOWN}


def test_the_newest_row_of_a_setting_counts_and_runtimes_stand_side_by_side():
    slow = phone_row(ms=90.0, runtime="LiteRT benchmark_model + built-in kernels")
    seen = lines([phone_row(), phone_row(ms=17.0), slow, phone_row(ms=9.0, threads=4), phone_row(ms=4.0, lengths=128)])
    assert [(line["runtime"], line["lengths"], line["threads"], line["p50 ms"]) for line in seen] == [
        ("LiteRT + XNNPACK", "128", "1", "4.0"),
        ("LiteRT + XNNPACK", "384", "1", "17.0"),
        ("LiteRT + built-in kernels", "384", "1", "90.0"),
        ("LiteRT + XNNPACK", "384", "4", "9.0"),
    ]
    exported_again = phone_row(ms=5.0, lengths=128, bundle_sha256="another")
    assert [line["p50 ms"] for line in lines([phone_row(), exported_again])] == ["5.0"]


def test_a_failure_is_listed_until_a_run_of_that_setting_succeeds():
    failed = phone_row(status="out of memory", runtime="LiteRT benchmark_model", threads=4, **NO_FIGURES)
    rows = [phone_row(), failed]
    (table,) = view_tables(collect(rows), "latency")
    assert [line[5] for line in table.cells] == ["18.0", UNKNOWN]
    assert "int8 (lengths 384, threads 4) failed: out of memory" in table.notes
    assert "int8 failed: out of memory" in Page(collect(rows)).render()
    later = collect([*rows, phone_row(threads=4)])
    assert [row["status"] for row in newest_on_phone(later[0])] == ["ok", "ok"]
    without_signature = [phone_row(status="no signature", lengths=None, **NO_FIGURES), phone_row()]
    assert [row["status"] for row in newest_on_phone(collect(without_signature)[0])] == ["ok"]
    assert [row["status"] for row in newest_on_phone(collect(without_signature[::-1])[0])] == ["no signature", "ok"]


def test_table_shows_phones_in_the_latency_view_only(rows_path, capsys):
    append_row(rows_path, phone_row("student-tflite-int8-weights", load_ms=41.3, peak_memory_mb=151.2, memory_growth_mb=44.1))
    with pytest.raises(OptionError, match="nothing to show as summary; rows of a phone are in --view latency"):
        main(TableConfig(rows_path))
    text = main(TableConfig(rows_path, view="latency"))
    assert text in capsys.readouterr().out
    assert max(len(line) for line in text.splitlines()) <= 140
    append_row(rows_path, cpu_row(ms=(1, 1, 1, 1)))
    assert PIXEL not in main(TableConfig(rows_path, view="latency", data="dev.json"))
    with pytest.raises(OptionError, match="--plot"):
        main(TableConfig(rows_path, plot=rows_path.with_suffix(".svg")))


def test_only_rows_of_a_phone_may_lack_the_data(tmp_path):
    assert list(make_row(phone_row())) == [key for key in KEYS if key in phone_row()]
    with pytest.raises(ValueError, match="data"):
        make_row(phone_row(target="cpu"))
    path = write(tmp_path / "rows.jsonl", json.dumps(phone_row(target="cpu")) + "\n")
    with pytest.raises(RowsError, match="line 1 is not a result row, it lacks data"):
        read_rows(path)
