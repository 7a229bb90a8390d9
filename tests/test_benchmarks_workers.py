"""Measuring processes: the same logits as in this process, turns as asked for, and every way to fail is one line."""

import os
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.timing.conditions import cores_for
from benchmarks.timing.workers import ServedRuntime, Server, Worker, WorkerError
from benchmarks.windows_file import write_windows
from qa.features import make_windows
from qa.runtimes import load_runtime, run_windows
from qa.squad import Example

# Counts its calls in the logits; the name of its path says after how many it fails.
ADAPTER = """
from benchmarks.runner import Model

def load(path, threads):
    if path.name == "broken":
        raise RuntimeError("no such\\nmodel")
    calls = []
    def call(inputs):
        calls.append(inputs["input_ids"].shape)
        if len(calls) > int(path.name):
            raise RuntimeError("out of memory\\nat 0x1")
        print("a library talks")
        return 0.0 * inputs["input_ids"] + len(calls), 0.0 * inputs["input_ids"] + calls[-1][1]
    return Model("counting 1.0", [8, 16], call, 2)
"""


@pytest.fixture
def adapter(tmp_path, monkeypatch):
    (tmp_path / "counting_adapter.py").write_text(ADAPTER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def server(name):
        return Server("counting_adapter", tmp_path / str(name))

    return server


@pytest.fixture
def start():
    started = []

    def start(server, threads=1):
        started.append(Worker(server, threads, cores_for(threads)))
        return started[-1]

    yield start
    for worker in started:
        worker.close()


@pytest.fixture
def windows_file(tmp_path):
    return write_windows(tmp_path / "windows.npz", [(np.arange(1, n + 1), 2) for n in (3, 5, 9, 4)], "")


def test_a_bundle_gives_the_logits_it_gives_here(tiny_export, start):
    bundle = tiny_export("onnx")
    example = Example("q", "t", "It rained on Monday. " * 40, "When did it rain?", (), False)
    windows = make_windows([example], bundle.tokenizer(), bundle.settings)
    worker = start(Server("benchmarks.timing.bundle_adapter", bundle.path))
    here, there = load_runtime(bundle, 1), ServedRuntime(worker)
    assert there.name == here.name
    assert len(windows) > 1
    for mine, other in zip(run_windows(here, windows), run_windows(there, windows), strict=True):
        np.testing.assert_array_equal(mine[0], other[0])
        np.testing.assert_array_equal(mine[1], other[1])
    assert worker.facts["load_ms"] > 0
    assert worker.cpu_seconds() > 0
    if sys.platform == "linux":
        assert worker.facts["memory_before_load_mb"] > 10


def test_a_turn_times_each_window_and_pads_as_the_model_needs(adapter, start, windows_file):
    worker = start(adapter(10**9))
    worker.ask(windows="real", path=str(windows_file), pad_to=1)
    reply = worker.ask(turn="real", rows=[0, 1, 2], min_s=0, batch=1)
    assert np.shape(reply["times_ms"]) == (1, 3)
    assert reply["latency_ms_first"] > 0
    assert reply["n_warmup"] == 3
    # The model takes two windows at once, so a batch of three is two calls, timed together.
    assert np.shape(worker.ask(turn="real", rows=[0, 1, 2, 3], min_s=0, batch=3)["times_ms"]) == (1, 2)
    calls = worker.ask(call={"input_ids": [[1, 2, 3]]})["start_logits"][0][0]
    assert calls == (3 + 3) + (3 + 3) + 1
    assert len(worker.ask(turn="real", rows=[0], min_s=0.05, batch=1)["times_ms"]) > 1
    worker.ask(windows="long", path=str(windows_file), pad_to=17)
    with pytest.raises(WorkerError, match=r"does not fit the model's lengths \[8, 16\]"):
        worker.ask(turn="long", rows=[0], min_s=0, batch=1)


def test_a_failure_is_one_line(adapter, start, windows_file):
    with pytest.raises(WorkerError, match=r"^no such$"):
        start(adapter("broken"))
    worker = start(adapter(4))
    worker.ask(windows="real", path=str(windows_file), pad_to=1)
    with pytest.raises(WorkerError, match=r"^out of memory$"):
        worker.ask(turn="real", rows=[0, 1], min_s=0, batch=1)
    with pytest.raises(WorkerError, match="ended"):  # what failed is gone
        worker.ask(turn="real", rows=[0], min_s=0, batch=1)
    with pytest.raises(WorkerError, match="No module named 'no_such_adapter'"):
        start(Server("no_such_adapter", windows_file))


def test_a_process_that_is_killed_says_so(adapter, start, windows_file):
    worker = start(adapter(10**9))
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="killed by signal 9"):
        worker.ask(windows="real", path=str(windows_file), pad_to=1)


def test_half_a_reply_is_the_end_of_a_process_and_no_traceback(tmp_path):
    words = ["sh", "-c", 'printf \'{"load_ms": 1.0, "memo\'; echo gone >&2; exit 3']
    half = SimpleNamespace(command=lambda threads, cores: (words, dict(os.environ)), exit_when_lost=None)
    with pytest.raises(WorkerError, match=r"its process ended \(exit code 3\): gone"):
        Worker(half, 1, [0])


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux pins processes")
def test_a_process_runs_on_its_cores(adapter, start):
    worker = start(adapter(10**9))
    assert os.sched_getaffinity(worker._process.pid) == set(cores_for(1))
    assert cores_for(len(os.sched_getaffinity(0))) == sorted(os.sched_getaffinity(0))
