"""Workers: the same logits as in this process, times as asked for, and every way to fail is one line."""

import ast
import os
import re
import shutil
import signal
import sys

import numpy as np
import pytest

from benchmarks.measure.conditions import this_host
from benchmarks.measure.hosts import WORKER_FILES, on_this_machine
from benchmarks.measure.worker import Model, Server, system_information
from benchmarks.measure.worker_process import WORKER, Worker
from export.parity import real_windows
from qa.base.errors import BundleError, PocketQAError
from qa.bundles.bundle import open_bundle
from qa.formats.registry import FORMATS
from qa.runtime.remote import ROOT, Deployment, RemoteError
from qa.runtime.runtimes import TorchRuntime, load_runtime, run_windows

# Counts its calls in the logits; the name of its path says after how many it fails.
ADAPTER = """
import time
from benchmarks.measure.worker import Model

def load(path, threads):
    if path.name == "broken":
        raise RuntimeError("no such\\nmodel")
    if path.name == "slow":
        time.sleep(60)
    calls = []
    def call(inputs):
        calls.append(inputs["input_ids"].shape)
        if len(calls) > int(path.name):
            raise RuntimeError("out of memory\\nat 0x1")
        print("a library talks")
        return 0.0 * inputs["input_ids"] + len(calls), 0.0 * inputs["input_ids"] + calls[-1][1]
    return Model(("counting", "1.0", ""), [8, 16], call, 2)
"""
WINDOWS = [(list(range(1, n + 1)), 2) for n in (3, 5, 9, 4)]
IDS = {
    "input_ids": np.array([[1, 2, 3]]),
    "attention_mask": np.ones((1, 3)),
    "token_type_ids": np.zeros((1, 3)),
}


@pytest.fixture
def adapter(tmp_path, monkeypatch):
    (tmp_path / "counting_adapter.py").write_text(ADAPTER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return lambda name: on_this_machine(tmp_path / str(name), "counting_adapter")


@pytest.fixture
def start():
    started = []

    def start(deployment, threads=1, **options):
        started.append(Worker(deployment, threads, this_host().cores_for(threads), **options))
        return started[-1]

    yield start
    for worker in started:
        worker.close()


def test_windows_are_timed_as_often_as_asked_and_padded_as_the_model_needs(adapter, start):
    worker = start(adapter(10**9))
    reply = worker.time(WINDOWS[:3], 1, 1, 0)
    assert np.shape(reply["times_ms"]) == (1, 3)
    assert reply["latency_ms_first"] > 0
    assert reply["n_warmup"] == 3
    # The model takes two windows at once, so a batch of three is two calls, timed together.
    assert np.shape(worker.time(WINDOWS, 1, 3, 0)["times_ms"]) == (1, 2)
    # Three calls for three shapes, (3 + 3) and (3 + 3) so far, one to warm up a fourth, and this one.
    assert worker(IDS)[0][0, 0] == 17
    assert worker(IDS)[0][0, 0] == 18
    assert len(worker.time(WINDOWS[:1], 1, 1, 0.05)["times_ms"]) > 1
    with pytest.raises(BundleError, match=r"does not fit the model's lengths \[8, 16\]"):
        worker.time(WINDOWS[:1], 17, 1, 0)


def test_a_peak_is_that_of_the_windows_timed():
    """A stand-in for a GPU's memory: the largest batch, in tokens, since the peak was asked for last."""
    sizes = []

    def call(inputs):
        sizes.append(inputs["input_ids"].size)
        return inputs["input_ids"], inputs["input_ids"]

    def peak():
        found = max(sizes, default=0)
        sizes.clear()
        return found

    server = Server()
    server.model = Model(("counting", "1.0", ""), None, call, 32, 32, peak)
    server.compute({name: np.repeat(array, 32, axis=0) for name, array in IDS.items()})
    assert server.time([[1, 2, 3]] * 2, [1, 1], 1, 1, 0)["peak_memory_mb"] == 3
    assert server.time([[1, 2, 3]] * 2, [1, 1], 1, 2, 0)["peak_memory_mb"] == 6


def test_a_failure_is_one_line(adapter, start):
    with pytest.raises(RemoteError, match=r"^no such$"):
        start(adapter("broken"))
    with pytest.raises(RemoteError, match=r"^out of memory$"):
        start(adapter(4)).time(WINDOWS, 1, 1, 0)
    with pytest.raises(RemoteError, match=r"^No module named 'absent'$"):
        start(on_this_machine(ROOT, "absent"))
    worker = start(adapter(9))
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(RemoteError, match=r"^its process ended \(killed by SIGKILL\)$"):
        worker(IDS)


def test_a_worker_that_does_not_answer_is_ended(adapter, start):
    with pytest.raises(RemoteError, match=r"did not answer within 2 seconds and was ended"):
        start(adapter("slow"), timeout_s=2)


def test_a_shell_that_greets_is_no_reply(start):
    with pytest.raises(RemoteError, match=r"^ssh:pi: its process wrote 'Welcome to pi' instead of a reply$"):
        start(Deployment(("sh", "-c", "echo Welcome to pi; sleep 9"), {}, "ssh:pi"))


# What is copied to a board, in a Python that has numpy and the runtimes only


BARE = (sys.executable, "-S", "-s", "-P", "-m", WORKER)


@pytest.fixture
def board(tmp_path):
    """A folder with the files of the project that a board gets."""
    for name in WORKER_FILES:
        copied = tmp_path / "board" / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copied)
    return tmp_path / "board"


@pytest.fixture
def start_bare(board, start):
    """A function: a worker on the board for a weights file, in a Python that has a folder of packages."""

    def start_there(weights, site, **more):
        return start(
            Deployment(BARE, {"path": str(weights), **more}, environment={"PYTHONPATH": f"{board}:{site}"})
        )

    return start_there


@pytest.mark.parametrize("kind", ["tflite", "any-length", "onnx"])
def test_on_a_board_logits_are_those_of_pytorch_and_of_the_runtime_here(
    kind, tiny_export, make_bundle, bare_site, start_bare
):
    bundle = tiny_export(kind)
    windows = sorted(real_windows(open_bundle(make_bundle())), key=lambda window: len(window.input_ids))
    worker = start_bare(bundle.weights, bare_site)
    runtime = load_runtime(bundle, 1)
    assert (worker.name, worker.lengths) == (runtime.name, runtime.lengths)
    reference = run_windows(TorchRuntime(open_bundle(make_bundle()).weights, 1), windows)
    for own, here, torch in zip(
        run_windows(worker, windows), run_windows(runtime, windows), reference, strict=True
    ):
        for a, b, c in zip(own, here, torch, strict=True):
            np.testing.assert_array_equal(a, b)  # the same runtime on the same inputs: not one bit differs
            np.testing.assert_allclose(a, c, atol=1e-4)
    assert worker.loaded["load_ms"] > 0
    assert worker.cpu_seconds() > 0
    assert {"cpuinfo", "cores", "usable_cores"} <= worker.loaded["system"].keys()


def test_what_a_board_cannot_do_is_one_line(tiny_export, tmp_path, bare_site, poor_site, start_bare):
    bundle = tiny_export("onnx")
    torn = tmp_path / "model.onnx"
    torn.write_bytes(bundle.weights.read_bytes()[:-1])
    sha256 = bundle.manifest.files["model.onnx"]
    empty = tmp_path / "empty"
    empty.mkdir()
    missing = "which is not installed for"
    for said, weights, site, more in (
        (f"instead of {sha256[:12]}; copy it again", torn, bare_site, {"sha256": sha256}),
        ("ONNX Runtime", torn, bare_site, {}),
        ("not the weights of a bundle", tmp_path / "none.txt", bare_site, {}),
        (f"an ONNX bundle needs onnxruntime, {missing}", bundle.weights, poor_site, {}),
        (f"a TFLite bundle needs ai-edge-litert, {missing}", tmp_path / "model.tflite", poor_site, {}),
        (f"numpy is not installed for {sys.executable}; python3 -m pip install numpy", torn, empty, {}),
    ):
        with pytest.raises(PocketQAError, match=re.escape(said)) as caught:
            start_bare(weights, site, **more)
        assert "\n" not in str(caught.value)


def test_what_is_copied_to_a_board_is_python_3_9_and_imports_numpy_and_itself_alone():
    files = {*WORKER_FILES, *(kind.file for kind in FORMATS.values() if kind.exported)}
    copied = {name.removesuffix(".py").replace("/", ".") for name in files}
    for name in files:
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 9))
        modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        modules |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        assert {m for m in modules if m.split(".")[0] not in sys.stdlib_module_names} <= {"numpy", *copied}
    assert set(system_information()["usable_cores"]) == os.sched_getaffinity(0)


def test_of_unlike_cores_the_fastest_is_timed_and_described(monkeypatch):
    """Cores 0 and 1 are fast ones, 2 and 3 are efficient ones, as in a hybrid of Intel."""
    frequencies = {0: 4_900_000, 1: 4_900_000, 2: 3_600_000, 3: 3_600_000}
    texts = {
        "/proc/cpuinfo": "\n\n".join(f"processor\t: {n}\nmodel name\t: CPU {n}" for n in (*frequencies, 11))
    }
    for core, frequency in frequencies.items():
        folder = f"/sys/devices/system/cpu/cpu{core}/cpufreq"
        texts |= {
            f"{folder}/cpuinfo_max_freq": str(frequency),
            f"{folder}/scaling_governor": f"governor {core}",
        }
    monkeypatch.setattr("benchmarks.measure.worker.text_of", lambda path: texts.get(path, ""))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(frequencies))
    host = this_host()
    assert (host.cores_for(1), host.cores_for(2)) == ([1], [0, 1])
    assert host.machine.name == "CPU 1"
    assert host.conditions(1)["governor"] == "governor 1"
    texts.clear()
    assert this_host().cores_for(2) == [2, 3], "where the system does not tell"
