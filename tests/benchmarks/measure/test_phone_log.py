"""Logs of LiteRT's benchmark tool: every form it prints, runs that failed, and whose file was measured."""

import re

import pytest
from phone_logs import CURRENT, LOGGED_SIZE, LOGS, N_BYTES, ONE_RUN, model, write

from benchmarks.measure.phone_log import PhoneLogError, owner, phone_results, read_runs
from benchmarks.results.rows import Machine, Runtime

# What a log says


def test_current_form_with_several_runs_in_one_file():
    first, second = read_runs(LOGS / "current.log")
    assert first.where == f"{LOGS / 'current.log'}: line 2"
    assert (first.graph, first.size_mb, first.signature, first.threads, first.error) == (
        "/data/local/tmp/student-tflite-int8.tflite",
        18.9342,
        "qa128",
        1,
        None,
    )
    assert first.runtime == Runtime("LiteRT", variant="+ XNNPACK")
    # Microseconds / 1000; memory times 1.048576: 48.5 -> 50.856, 42.75 -> 44.827.
    assert first.figures == {
        "latency_ms_p50": 18.142,
        "latency_ms_p95": 18.89,
        "latency_ms_mean": 18.2047,
        "latency_ms_std": 0.301,
        "latency_ms_first": 24.87,
        "n_runs": 55,
        "n_warmup": 27,
        "load_ms": 41.3,
        "peak_memory_mb": 50.9,
        "memory_growth_mb": 44.8,
    }
    assert (second.signature, second.threads, second.input_shapes) == ("qa384", 4, None)
    assert second.figures == {
        "latency_ms_p50": 1039.807,
        "latency_ms_p95": 1047.415,
        "latency_ms_mean": 1040.27,
        "latency_ms_std": 2.565,
        "latency_ms_first": 1098.765,
        "n_runs": 50,
        "n_warmup": 1,
        "load_ms": 43.9,
        "memory_growth_mb": 67.1,
    }


def test_old_form_has_a_mean_but_no_percentiles():
    (run,) = read_runs(LOGS / "old.log")
    assert (run.size_mb, run.signature, run.threads, run.runtime) == (
        18.9342,
        None,
        2,
        Runtime("LiteRT", variant="+ GPU"),
    )
    assert run.figures == {
        "latency_ms_mean": 266.473,
        "latency_ms_std": 0.419,
        "latency_ms_first": 339.304,
        "n_runs": 50,
        "n_warmup": 2,
        "load_ms": 20.3,
        "memory_growth_mb": 37.7,
    }


def test_logcat_form_without_a_first_line():
    first, second = read_runs(LOGS / "logcat.log")
    assert (first.signature, first.threads, first.figures["latency_ms_p50"], first.figures["n_runs"]) == (
        "qa256",
        4,
        31.253,
        33,
    )
    assert second.threads is None
    assert second.figures == {}
    assert "Pass one of the following" in second.error
    assert "#> Signature key: qa256" in second.error


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("line_end", ["\r\n", "\r\r\n"])
def test_what_windows_makes_of_a_log_is_read_alike(tmp_path, encoding, line_end):
    path = tmp_path / "windows.log"
    path.write_bytes(CURRENT.replace("\n", line_end).encode(encoding))
    plain = read_runs(LOGS / "current.log")
    windows = read_runs(path)
    assert [run.figures for run in windows] == [run.figures for run in plain]
    assert [run.signature for run in windows] == ["qa128", "qa384"]


def test_equal_times_and_a_single_run(tmp_path):
    for count, curr in ((2, "18111(all same)"), (1, "18111")):
        text = re.sub(r"count=55 .*", f"count={count} curr={curr} p5=18111 median=18111 p95=18111", ONE_RUN)
        (run,) = read_runs(
            write(tmp_path / "same.log", text.replace("Inference (avg): 18204.7", "Inference (avg): 18111"))
        )
        figures = run.figures
        assert (figures["n_runs"], figures["latency_ms_p50"], figures["latency_ms_mean"]) == (
            count,
            18.111,
            18.111,
        )
        assert "latency_ms_std" not in figures


def test_an_operator_profile_and_earlier_timings_are_not_taken_for_the_result(tmp_path):
    profile = (
        "Timings (microseconds): count=999 first=1 curr=1 min=1 max=1 avg=1 std=1\nMemory (bytes): count=0\n"
    )
    earlier = (
        "INFO: Inference timings in us: Init: 1, First inference: 1, Warmup (avg): 1, Inference (avg): 1\n"
    )
    text = ONE_RUN.replace("INFO: Inference timings", f"{profile}{earlier}INFO: Inference timings") + profile
    (run,) = read_runs(write(tmp_path / "profile.log", text))
    assert [run.figures[key] for key in ("n_runs", "latency_ms_p50", "latency_ms_mean")] == [
        55,
        18.142,
        18.2047,
    ]


def test_parameters_of_a_next_run_that_lacks_its_first_lines_are_not_taken(tmp_path):
    lines = [
        line
        for line in ONE_RUN.splitlines(keepends=True)
        if "STARTING" not in line and "verbosely" not in line
    ]
    without = "".join(line for line in lines if "hreads" not in line)
    first, second = read_runs(write(tmp_path / "a.log", without + "".join(lines)))
    assert (first.threads, second.threads) == (None, 1)
    assert [len(run.figures) for run in (first, second)] == [10, 10]


@pytest.mark.parametrize(
    ("line", "runtime"),
    [
        ("INFO: Use xnnpack: [0]", "LiteRT + built-in kernels"),
        ("INFO: Use gpu: [1]", "LiteRT"),
        (
            "INFO: Though GPU delegate is explicitly applied, the model graph will not be executed by the "
            "delegate.",
            "LiteRT",
        ),
        (
            "INFO: Use xnnpack: [1]\nINFO: xnnpack_force_fp16: [1]\n"
            "INFO: Explicitly applied XNNPACK delegate, and the model graph will be completely executed by "
            "the delegate.",
            "LiteRT + XNNPACK + fp16 forced",
        ),
    ],
)
def test_the_runtime_is_what_the_log_proves(tmp_path, line, runtime):
    text = ONE_RUN.replace("INFO: Created TensorFlow Lite XNNPACK delegate for CPU.", line)
    assert str(read_runs(write(tmp_path / "a.log", text))[0].runtime) == runtime


def test_threads_left_to_the_runtime_are_not_known(tmp_path):
    text = "".join(line for line in ONE_RUN.splitlines(keepends=True) if "hreads" not in line)
    assert read_runs(write(tmp_path / "a.log", text))[0].threads is None
    for left in ("[-1]", "[0]"):
        text = ONE_RUN.replace("CPU inference: [1]", f"CPU inference: {left}").replace(
            "Num threads: [1]", f"Num threads: {left}"
        )
        assert read_runs(write(tmp_path / "b.log", text))[0].threads is None


# Runs that failed, and files that are no logs


TIMED = "INFO: Inference timings in us"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            ONE_RUN + "ERROR: Node number 7 (XNN) failed to invoke.\nERROR: Benchmarking failed.\n",
            "failed: Node number 7",
        ),
        (
            ONE_RUN[: ONE_RUN.index("INFO: The input model")] + "ERROR: Benchmarking failed.\n",
            "does not say why",
        ),
        (
            ONE_RUN[: ONE_RUN.index(TIMED)],
            "no line 'Inference timings'.*cut off or the tool crashed; run it again",
        ),
        (
            ONE_RUN[: ONE_RUN.index(" 18204.7\nINFO: Note")] + " 182",
            "no line 'Inference timings'",
        ),  # 182 of 18204.7
        (ONE_RUN.replace("Inference (avg): 18204.7", "Inference (avg): nan"), "the mean time is nan"),
        (ONE_RUN.replace("count=55 first=18230", "count=0 p5=0"), r"no run was timed \(count=0\)"),
        (ONE_RUN.replace("count=55", "count=5.5e1"), r"no run was timed \(count=5\.5e1\)"),
    ],
)
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
        (
            b"I tflite  : Inference timings in us: Init: 5685, First inference: 18535, Warmup (avg): 1, Inference (avg): 14575.2\n",
            r"a\.log: line 1: no line 'Graph: \[\.\.\.\]'.*give the complete output",
        ),
        (
            b"STARTING!\nERROR: Please specify the name of your TF Lite input file with --graph\nERROR: Benchmarking failed.\n",
            r"line 1: no line 'Graph.*Please specify the name",
        ),
        (
            ONE_RUN.replace(TIMED, "========== BENCHMARK RESULTS ==========\nINFO: x").encode(),
            "log of the CompiledModel",
        ),
    ],
)
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
    models = [model("teacher", 24_474_038), model("student", 18_934_161), model("pruned", 16_724_401)]
    assert owner(logged(tmp_path), models) is models[1]
    assert owner(logged(tmp_path, size="24.474"), models) is models[0]
    for size in ("18.9341", "18.9343", "18.0569"):  # the last is the student's in 2^20 bytes
        with pytest.raises(
            PhoneLogError, match=rf"{size} MB was measured, which is not.*student \(18\.9342 MB\)"
        ):
            owner(logged(tmp_path, size=size), models)


def test_bundles_of_one_size_are_told_by_the_name_on_the_phone(tmp_path):
    twins = [model("one", 18_934_161), model("two", 18_934_170)]
    assert owner(logged(tmp_path, "/data/local/tmp/two.tflite"), twins) is twins[1]
    assert owner(logged(tmp_path, "/data/local/tmp/one/model.tflite"), twins) is twins[0]
    with pytest.raises(PhoneLogError, match=r"may be one, two; name one of them only, or push"):
        owner(logged(tmp_path), twins)


def test_a_name_that_contradicts_the_size_is_refused(tmp_path):
    models = [model("teacher", 24_474_038), model("student", 18_934_161)]
    with pytest.raises(PhoneLogError, match=r"teacher\.tflite of 18\.9342 MB was measured"):
        owner(logged(tmp_path, "/data/local/tmp/teacher.tflite"), models)


def test_without_a_size_only_a_failed_run_of_a_known_name_has_an_owner(tmp_path):
    failed = ONE_RUN[: ONE_RUN.index("INFO: The input model")]
    failed += "ERROR: Failed to allocate tensors!\nERROR: Benchmarking failed.\n"
    models = [model("teacher", 24_474_038), model("student", 18_934_161)]
    assert owner(logged(tmp_path, "/data/local/tmp/teacher.tflite", text=failed), models) is models[0]
    assert owner(logged(tmp_path, text=failed), models[:1]) is models[0]
    for graph, known in (("/model.tflite", models), ("/sdcard/other.tflite", models[:1])):
        with pytest.raises(
            PhoneLogError, match=r"failed before it told the file's size.*Failed to allocate tensors!"
        ):
            owner(logged(tmp_path, graph, text=failed), known)
    with pytest.raises(PhoneLogError, match="no line 'The input model file size"):
        owner(logged(tmp_path, text=ONE_RUN.replace("INFO: The input model", "INFO: x")), models[:1])


def lengths_in(log):
    run = {"machine": Machine("Pixel 8"), "command": "c", "date": "d"}
    return [result.lengths for result in phone_results(log, [model("student", N_BYTES)], run)]


def test_lengths_are_those_of_the_signature(tmp_path):
    path = tmp_path / "a.log"
    assert lengths_in(LOGS / "current.log") == [128, 384]
    assert lengths_in(LOGS / "old.log") == [None]
    only = ONE_RUN.replace(
        "Signature to run: [qa128]", "Signature to run: []"
    )  # of a file with one signature
    assert lengths_in(write(path, only)) == [128]
    assert lengths_in(write(path, ONE_RUN.replace("qa128", "serving_default"))) == [None]
    resized = ONE_RUN.replace("[1,128:1,128:1,128]", "[1,64:1,64:1,64]")
    with pytest.raises(
        PhoneLogError, match=r"input shapes 1,64:1,64:1,64 are not those of qa128.*shape=1,128:1,128:1,128"
    ):
        lengths_in(write(path, resized))
    assert lengths_in(write(path, resized + "ERROR: Benchmarking failed.\n")) == [128]
