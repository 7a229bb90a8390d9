"""Times of LiteRT's benchmark_model on a phone: an adb that replays a phone's answers and the tool's text."""

import re

import pytest
from adb_replay import replayed
from ai_edge_litert.interpreter import Interpreter

from benchmarks.benchmark_model import (
    FACTS,
    FOLDER,
    THERMAL,
    flags_by_length,
    measure_on_phone,
    read_figures,
    read_machine,
)
from benchmarks.phone import PhoneOptions
from benchmarks.results.files import read_results
from benchmarks.results.rows import Machine, Runtime
from qa.base.errors import BundleError, DeviceError, OptionError
from qa.base.files import file_sha256

S = "R58N30ABCDE"
DEVICES = ("devices", f"List of devices attached\n{S}\tdevice\n\n")
CPUINFO = """processor\t: 0
BogoMIPS\t: 49.15
Features\t: fp asimd aes fphp asimdhp cpuid asimddp i8mm bf16
CPU implementer\t: 0x41

processor\t: 1
"""
FACTS_STEP = (
    f"-s {S} shell {FACTS}",
    f"Google\nPixel 8\n16\nTensor G3\nshiba\narm64-v8a\n{CPUINFO}",
)
MACHINE = Machine("Google Pixel 8, Android 16, Tensor G3", 2)  # as the app's reports describe it
CLEANED = (f"-s {S} shell rm -rf {FOLDER}", "")
NOT_EXECUTABLE = "/system/bin/sh: ./benchmark_model: not executable: 64-bit ELF file\nexit code 126\n"
BEGAN = """INFO: STARTING!
INFO: Log parameter values verbosely: [0]
INFO: Min num runs: [50]
INFO: Signature to run: [qa]
INFO: Loaded model model.tflite
INFO: XNNPACK delegate created.
"""
MEASURED = """INFO: The input model file size (MB): 13.1
INFO: Initialized session in 61.25ms.
INFO: Running benchmark for at least 5 iterations and at least 0.5 seconds but terminate if exceeding 150 seconds.
INFO: count=31 first=23456 curr=16012 min=15897 max=23456 avg=16333.1 std=1330 p5=15910 median=16020 p95=17001

INFO: Running benchmark for at least 50 iterations and at least 1 seconds but terminate if exceeding 150 seconds.
INFO: count=62 first=16020 curr=16101 min=15880 max=18765 avg=16123.4 std=310 p5=15901 median=16050 p95=16543

INFO: Inference timings in us: Init: 61250, First inference: 23456, Warmup (avg): 16333.1, Inference (avg): 16123.4
INFO: Note: as the benchmark tool itself affects memory footprint, the following is only APPROXIMATE to the actual \
memory footprint of the model at runtime. Take the information at your discretion.
INFO: Memory footprint delta from the start of the tool (MB): init=20.5 overall=40
"""
PRINTED = f"Thermal Status: 0\n{BEGAN}{MEASURED}Thermal Status: 1\nexit code 0\n"


@pytest.fixture(scope="module")
def bundle(exported_tflite):
    return exported_tflite("bert", "int8")[1]


@pytest.fixture
def binary(tmp_path):
    path = tmp_path / "benchmark_model_arm64"
    path.write_bytes(b"\x7fELF of a phone")
    return path


def put(bundle, binary):
    """The calls before the first run."""
    return (
        FACTS_STEP,
        (f"-s {S} shell mkdir -p {FOLDER}", ""),
        (f"-s {S} push {binary} {FOLDER}/benchmark_model", "1 file pushed\n"),
        (f"-s {S} push {bundle.weights} {FOLDER}/model.tflite", "1 file pushed\n"),
        (f"-s {S} shell chmod 755 {FOLDER}/benchmark_model", ""),
    )


def ran(flags, threads, printed=PRINTED):
    tool = f"./benchmark_model --graph=model.tflite --use_xnnpack=true {flags} --num_threads={threads}"
    runs = "--warmup_runs=5 --num_runs=50 2>&1; code=$?"
    return f"-s {S} shell cd {FOLDER}; {THERMAL}; {tool} {runs}; {THERMAL}; echo exit code $code", printed


@pytest.fixture
def measure(tmp_path, monkeypatch, bundle, binary):
    """A function that measures the bundle while adb replays the steps."""

    def run(*steps, serial=None):
        with replayed(steps, tmp_path, monkeypatch):
            return measure_on_phone(PhoneOptions(bundle.path, binary, serial, tmp_path / "rows.jsonl"))

    return run


def test_every_length_and_number_of_threads_becomes_a_result(measure, bundle, binary, tmp_path, capsys):
    settings = flags_by_length(bundle.weights)
    runs = [ran(flags, threads) for threads in (1, 2) for _, flags in settings]  # of two cores
    results = measure(DEVICES, *put(bundle, binary), *runs, CLEANED)
    assert read_results(tmp_path / "rows.jsonl") == results
    assert [(r.threads, r.lengths) for r in results] == [
        (n, length) for n in (1, 2) for length, _ in settings
    ]
    first = results[0]
    assert first.machine == MACHINE
    assert first.runtime == Runtime("LiteRT benchmark_model", file_sha256(binary)[:12], "+ XNNPACK")
    assert (first.bundle_sha256, first.precision, first.target) == (bundle.sha256, "int8", "phone")
    assert (first.n_warmup, first.n_runs, first.thermal_status) == (31, 62, 1)
    assert (first.latency_ms_p50, first.latency_ms_p95, first.latency_ms_mean) == (16.05, 16.543, 16.1234)
    assert (first.latency_ms_first, first.load_ms) == (23.456, 61.25)
    assert first.memory_growth_mb == 41.9  # 40 MiB
    out = capsys.readouterr().out
    assert str(MACHINE) in out
    assert "timed without the app" in out
    assert "timed by the app" not in out


def test_the_inputs_are_named_in_the_order_of_the_graph_with_values_that_exist(bundle):
    details = Interpreter(str(bundle.weights)).get_input_details()
    in_graph = [detail["name"].partition("_")[2] for detail in details]  # qa128_input_ids
    for length, flags in flags_by_length(bundle.weights):
        values = dict(flag.removeprefix("--").split("=") for flag in flags.split(" "))
        names = values["input_layer"].split(",")
        assert names == in_graph
        assert sorted(names) == ["attention_mask", "input_ids", "token_type_ids"]
        assert values["input_layer_shape"] == ":".join([f"1,{length}"] * 3)
        ranges = [text.split(",") for text in values["input_layer_value_range"].split(":")]
        assert [name for name, *_ in ranges] == names
        bounds = {name: (int(low), int(high)) for name, low, high in ranges}
        assert bounds["attention_mask"] == (1, 1)
        assert bounds["token_type_ids"] == (0, 0)
        assert bounds["input_ids"] == (0, bundle.tokenizer.get_vocab_size() - 1)


def test_a_run_that_fails_cleans_up_and_keeps_earlier_results(measure, bundle, binary, tmp_path):
    flags = [flags for _, flags in flags_by_length(bundle.weights)]
    fault = "ERROR: Failed to apply XNNPACK delegate.\nERROR: Benchmarking failed.\nThermal Status: 0\nexit code 1\n"
    calls = [*flags, flags[0]]  # the second number of threads fails, or the second length
    runs = [ran(calls[0], 1), ran(calls[1], 1 if len(flags) > 1 else 2, BEGAN + fault)]
    expected = r"tokens, \d threads?: exit code 1: ERROR: Failed to apply XNNPACK delegate\.$"
    with pytest.raises(DeviceError, match=expected):
        measure(DEVICES, *put(bundle, binary), *runs, CLEANED)
    assert len(read_results(tmp_path / "rows.jsonl")) == 1


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (NOT_EXECUTABLE, "exit code 126: .*not executable.*; give a binary built for this phone"),
        ("exit code 139\n", "exit code 139: it printed nothing"),
        ("CANNOT LINK EXECUTABLE: no libc++\nexit code 1\n", "exit code 1: CANNOT LINK EXECUTABLE: no libc"),
        ("", "exit code -1"),
        ("hello\nexit code 0\n", "it printed no times"),
        ("Initialized session in 1ms.\ncount=1 curr=70\nexit code 0\n", "it printed no times"),
        (
            f"WARN: Unconsumed cmdline flags: --signature_to_run_for=qa\n{PRINTED}",
            "does not know --signature",
        ),
    ],
)
def test_a_binary_that_is_another_program(measure, bundle, binary, printed, expected):
    run = ran(flags_by_length(bundle.weights)[0][1], 1, printed)
    where = rf"{re.escape(str(binary))} on {S} \(arm64-v8a\), \d+ tokens, 1 thread: .*"
    with pytest.raises(DeviceError, match=where + expected):
        measure(DEVICES, *put(bundle, binary), run, CLEANED)


def test_a_phone_that_is_unplugged_is_the_error_and_what_stays_is_said(measure, bundle, binary, capsys):
    gone = f"adb: device '{S}' not found\n"
    steps = put(bundle, binary)[:3]
    with pytest.raises(DeviceError, match="adb lost the phone"):
        measure(DEVICES, *steps, (put(bundle, binary)[3][0], "", gone, 1), (CLEANED[0], "", gone, 1))
    assert f"{FOLDER} is still on {S}" in capsys.readouterr().err


def test_inputs_are_refused_before_adb_is_called(make_bundle, binary, tmp_path):
    with pytest.raises(BundleError, match=r"python -m export\.tflite"):
        measure_on_phone(PhoneOptions(make_bundle(), binary))
    with pytest.raises(OptionError, match="--binary must be the file benchmark_model, got"):
        PhoneOptions(tmp_path, tmp_path / "none")


def test_an_older_tool_prints_no_percentiles_and_none_are_made_up():
    figures = read_figures(
        """Initialized session in 0.855ms.
count=15 first=49060 curr=33682 min=32825 max=49060 avg=34825.1 std=3930

count=50 first=32891 curr=33978 min=32641 max=34005 avg=1.23457e+06 std=450

Peak memory footprint (MB): init=0 overall=12.8672
"""
    )
    assert (figures["latency_ms_p50"], figures["latency_ms_p95"]) == (None, None)
    assert (figures["latency_ms_mean"], figures["latency_ms_first"]) == (1234.57, 49.06)
    assert (figures["memory_growth_mb"], figures["thermal_status"]) == (13.5, None)


def test_times_that_are_all_the_same():
    one = "count=1 curr=70 p5=70 median=70 p95=70"
    figures = read_figures(
        f"Initialized session in 1ms.\n{one}\ncount=3 curr=60(all same) p5=60 median=60 p95=60\n"
    )
    assert (figures["latency_ms_first"], figures["latency_ms_mean"], figures["n_runs"]) == (0.07, 0.06, 3)


def test_a_phone_without_the_name_of_its_chip():
    machine, abi = read_machine(
        "samsung\r\nSM-G973F\r\n12\r\n\r\nexynos9820\r\narm64-v8a\r\nprocessor\t: 0\r\n"
    )
    assert (machine, abi) == (Machine("samsung SM-G973F, Android 12, exynos9820", 1), "arm64-v8a")
