"""Times of a comparison: each setting of its own, failures as rows, and going on after a stop."""

from unittest.mock import Mock

import pytest
from compare_cli import run_cli
from comparisons import rebundle

from benchmarks import measure_and_show, resolve
from benchmarks.measure import latency as measure
from benchmarks.measure.conditions import this_host
from benchmarks.measure.hosts import on_this_machine
from benchmarks.measure.plan import QUICK
from benchmarks.options import CompareOptions
from benchmarks.results.files import read_results
from benchmarks.results.rows import Accuracy, Failure, Latency
from qa.runtime.runtimes import available_cores


def test_a_failure_is_a_row_and_the_others_are_measured(
    tiny_export, make_export, data, tmp_path, monkeypatch, capsys
):
    """No runtime can load one; another fails when it is timed."""
    source = tiny_export("onnx").path  # whose workers start at once
    teacher, student = (rebundle(source, tmp_path / "run" / name) for name in ("teacher", "student"))
    adapter = "def load(path, threads):\n    raise RuntimeError('out of memory')\n"
    (tmp_path / "failing_adapter.py").write_text(adapter)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    find = resolve.find_models

    def failing(named, also=()):
        found = find(named, also)
        found[-1].deployment = on_this_machine(student, "failing_adapter")
        return found

    monkeypatch.setattr(resolve, "find_models", failing)
    broken = make_export("broken", 7)
    words = (broken, student, "--baseline", teacher, "--data", data, "--quick")
    assert run_cli(monkeypatch, *words) == 1
    rows = read_results(tmp_path / "run" / "rows.jsonl")
    assert [(row.model, type(row)) for row in rows] == [
        ("teacher", Accuracy),
        ("broken", Failure),
        ("student", Accuracy),
        ("teacher", Latency),
        ("teacher", Latency),
        ("student", Failure),
    ]
    assert (rows[1].size_bytes, rows[1].runtime) == (7, None)
    assert (rows[-1].error, rows[-1].threads) == ("out of memory", 1)
    out = capsys.readouterr().out
    assert "broken failed:" in out
    assert "student (threads 1) failed: out of memory" in out
    line = next(line for line in out.splitlines() if line.startswith("student "))
    assert f"{rows[2].f1:.2f}" in line.split(), "its accuracy was measured before"


def test_a_batch_that_fails_is_named_and_the_other_times_are_kept(
    tiny_export, data, tmp_path, monkeypatch, capsys
):
    export = tiny_export("onnx").path
    adapter = (
        "from benchmarks.measure.worker import Model\n"
        "from qa.runtime.engines import OnnxRuntime\n"
        "def load(path, threads):\n"
        "    runtime = OnnxRuntime(path, threads)\n"
        "    def call(inputs):\n"
        "        if len(inputs['input_ids']) > 1:\n"
        "            raise RuntimeError('out of memory')\n"
        "        return runtime(inputs)\n"
        "    return Model((runtime.package, runtime.version, ''), None, call, 8)\n"
    )
    (tmp_path / "small_adapter.py").write_text(adapter)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    find = resolve.find_models

    def small(named, also=()):
        (model,) = find(named, also)
        model.deployment = on_this_machine(model.bundle.weights, "small_adapter")
        return [model]

    monkeypatch.setattr(resolve, "find_models", small)
    rows_path = tmp_path / "rows.jsonl"
    threads = sorted({1, available_cores()})  # it is tried again with other threads
    words = ("--lengths", "unpadded", "--batch", 3, 1, "--threads", *threads, "--quick", "--rows", rows_path)
    with monkeypatch.context() as stopping:
        stopping.setattr(measure.Journal, "remove", Mock(side_effect=KeyboardInterrupt))
        assert run_cli(monkeypatch, export, "--data", data, *words) == 130
    assert run_cli(monkeypatch, export, "--data", data, *words) == 1, "and no failure comes twice"
    scores, *others = read_results(rows_path)
    assert isinstance(scores, Accuracy)
    for n, times, failed in zip(threads, others[::2], others[1::2], strict=True):
        assert (times.threads, times.batch, len(times.round_ms)) == (n, 1, QUICK.n_rounds)
        assert (failed.threads, failed.error) == (n, "lengths unpadded, batch 3: out of memory")
    assert f"(threads {n}) failed: lengths unpadded, batch 3: out of memory" in capsys.readouterr().out


def test_a_stopped_comparison_goes_on_and_no_row_comes_twice(
    tiny_export, data, tmp_path, monkeypatch, capsys
):
    rows_path = tmp_path / "run" / "rows.jsonl"
    config = CompareOptions((tiny_export("onnx").path,), str(data), rows=rows_path, quick=True)
    monkeypatch.setattr(resolve, "available_cores", lambda: 2)
    real = measure.run_interleaved_rounds

    def stopped(timings, plan, threads, *others):
        real(timings, plan, threads, *others)
        if threads == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(measure, "run_interleaved_rounds", stopped)
    with pytest.raises(KeyboardInterrupt):
        measure_and_show.measure(config)
    first, *timed = read_results(rows_path)
    assert isinstance(first, Accuracy)
    assert [(row.threads, row.lengths) for row in timed] == [(1, "unpadded"), (1, 128)]
    (journal,) = rows_path.with_name(rows_path.name + ".journal").iterdir()
    monkeypatch.setattr(measure, "run_interleaved_rounds", real)
    measure_and_show.measure(config)
    assert "resuming the run of" in capsys.readouterr().err
    timed = [row for row in read_results(rows_path) if isinstance(row, Latency)]
    settings = [(1, "unpadded"), (1, 128), (2, "unpadded"), (2, 128)]
    assert [(row.threads, row.lengths) for row in timed] == settings
    assert len({row.date for row in timed}) == 1
    assert not journal.exists()


def test_lengths_and_batches_are_settings_of_their_own(tiny_export, data, tmp_path, monkeypatch, capsys):
    export = tiny_export("onnx").path
    rows_path = tmp_path / "run" / "rows.jsonl"
    words = ("--lengths", 96, "padded", "--batch", 1, 3, "--threads", 1, "--rows", rows_path)
    assert run_cli(monkeypatch, export, "--data", data, "--quick", *words) == 0
    timed = [row for row in read_results(rows_path) if isinstance(row, Latency)]
    assert [(row.lengths, row.batch) for row in timed] == [(96, 1), (128, 1), (96, 3), (128, 3)]
    for row in timed:
        assert row.quick
        assert len(row.round_ms) == QUICK.n_rounds
        assert (row.latency_ms_p50 is not None) == (row.batch == 1)
        assert (row.windows_per_s is not None) == (row.batch == 3)
        assert list(row.affinity) == this_host().cores_for(1)
        for name in ("tokenize_ms_p50", "decode_ms_p50", "load_ms", "latency_ms_first", "load_average"):
            assert getattr(row, name) is not None
    assert run_cli(monkeypatch, export, "--data", data, "--quick", "--lengths", 256) == 2
    refusal = "--lengths must be at most 128, as long as windows of tiny-onnx are, got 256"
    assert refusal in capsys.readouterr().err
    assert run_cli(monkeypatch, export, "--data", data, "--quick", "--lengths", "padded", 128) == 2
    refusal = "--lengths must be padded or 128, which are the same for tiny-onnx, got padded 128"
    assert refusal in capsys.readouterr().err
