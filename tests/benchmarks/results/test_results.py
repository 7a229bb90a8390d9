"""Results as JSON lines: what is kept, what is refused, and files that others or full disks have spoilt."""

import errno
import json
import os

import msgspec
import pytest
import torch
from benchmark_results import Z80, failure, on_phone, on_target, scored, timed

from benchmarks.results.files import (
    ResultFile,
    ResultsError,
    append_result,
    exit_if_failed,
    read_results,
    results_of,
    sound_results,
)
from benchmarks.results.rows import Machine, Runtime
from benchmarks.results.stats import speedup, t_quantile
from qa.base.errors import OptionError
from qa.evaluation.bootstrap import Interval


def some():
    """One of each class."""
    return [
        scored("s", embeddings="pq3", by_category={"Simple": {"f1": 1.5, "total": 2}}),
        timed(quick=True),
        on_phone(),
        failure("f", unsupported=True),
        on_target("t", 7),
    ]


def test_what_was_appended_is_read_as_it_was(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    for result in some():
        append_result(path, result)
    assert read_results(path) == some()
    assert sound_results(path) == (some(), [])
    first = json.loads(path.read_text().splitlines()[0])
    assert first["kind"] == "accuracy"
    assert first["embeddings"] == "pq3"
    assert "best_f1" not in first  # what is not known is absent
    exit_if_failed([failure("a", unsupported=True), scored()])
    with pytest.raises(SystemExit, match=r"^1$"):
        exit_if_failed([failure("a")])


def test_models_of_one_name_in_two_files_are_refused(tmp_path):
    """A table has one line for a name, so one of them would be left out without a word."""
    files = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    for path, sha256 in zip(files, ("a" * 64, "b" * 64), strict=True):
        append_result(path, scored("student", bundle_sha256=sha256))
        append_result(path, scored("same"))
    with pytest.raises(OptionError, match=r"first\.jsonl and .*second\.jsonl: student "):
        results_of(files, ())
    assert [r.model for r in results_of(files, ["same"])] == ["same", "same"]
    assert len(results_of(files[:1], ())) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"latency_ms_mean": 0.0}, "latency_ms_mean"),
        ({"latency_ms_mean": "9"}, "latency_ms_mean"),
        ({"threads": 0}, "threads"),
        ({"round_ms": [1.0, 0.0]}, "round_ms"),
        ({"lengths": "long"}, "lengths"),
        ({"quick": "yes"}, "quick"),
        ({"affinity": "0-1"}, "affinity"),
        ({"machine": "Z80"}, "machine"),
        ({"speed": 3}, "speed"),
        ({"kind": "row"}, "row"),
        ({"data": None}, "data"),
        ({"runtime": {"package": 3}}, "runtime"),
    ],
)
def test_a_line_that_breaks_its_class_is_named_and_left_out(tmp_path, change, said):
    path = tmp_path / "rows.jsonl"
    good = msgspec.json.encode(timed())
    path.write_bytes(good + b"\n" + json.dumps(json.loads(good) | change).encode() + b"\n" + good[:40])
    with pytest.raises(
        ResultsError, match=rf"rows\.jsonl: line 2 is not a result \(.*{said}.*\); CHANGELOG\.md"
    ):
        read_results(path)
    results, faults = sound_results(path)
    assert results == [timed()]
    assert len(faults) == 2


def test_zero_seconds_are_refused_where_subnormal_numbers_are_flushed_to_zero(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(msgspec.json.encode(msgspec.to_builtins(timed()) | {"latency_ms_mean": 0.0}))
    torch.set_flush_denormal(True)
    try:
        with pytest.raises(ResultsError, match="latency_ms_mean"):
            read_results(path)
    finally:
        torch.set_flush_denormal(False)


def test_a_file_without_any_result_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    with pytest.raises(ResultsError, match=r"no such file; python benchmarks/compare\.py writes one"):
        read_results(path)
    deep = b'{"kind": "accuracy", "by_category": {"a": ' + b"[" * 5000 + b"\n"
    for content in (b"", b"{}\n", b"\xff\n", b"[1]\n", deep):
        path.write_bytes(content)
        with pytest.raises(ResultsError, match="has no result"):
            sound_results(path)


def test_a_torn_line_does_not_take_the_next_with_it(tmp_path):
    path = tmp_path / "rows.jsonl"
    append_result(path, scored())
    path.write_bytes(path.read_bytes() + b'{"kind": "accur')
    append_result(path, timed())
    assert sound_results(path)[0] == [scored(), timed()]


def test_a_torn_last_line_is_cut_off_before_more_are_appended(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    append_result(path, scored())
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind": "accur')
    assert ResultFile(path).old == [scored()]
    assert path.read_bytes() == whole
    assert str(path) in capsys.readouterr().err
    path.write_bytes(whole[:-1])
    assert ResultFile(path).old == [scored()], "only its line end is missing"
    for other in (
        b'{"version": "1.1"}',
        whole + b'{"version"',
        b'no result\n{"kind"',
        whole + b'{"kind": "older"}',
    ):
        path.write_bytes(other)
        with pytest.raises(ResultsError, match="is not a result"):
            ResultFile(path)
        assert path.read_bytes() == other
    path.write_bytes(b"no result\n" + whole)
    with pytest.raises(ResultsError, match="line 1 is not a result"):
        ResultFile(path)


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    append_result(path, scored())
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        append_result(path, timed())
    assert path.read_bytes() == before


def test_where_no_results_can_go_is_said_at_once(tmp_path):
    with pytest.raises(OptionError, match=r"--rows .*: is a folder"):
        ResultFile(tmp_path)
    file = ResultFile(tmp_path / "rows.jsonl")
    file.append(scored())
    assert ResultFile(file.path).old == file.new == file.all


def test_machines_and_runtimes_in_one_line():
    assert str(Machine("Z80", 2, ("avx2", "amx_int8"))) == "Z80, 2 cores, avx2 amx_int8"
    assert (str(Machine("Pixel 8")), str(Z80)) == ("Pixel 8", "Z80, 1 core")
    assert str(Runtime("torch", "2.13", "compile")) == "torch 2.13 compile"
    assert str(Runtime("LiteRT", variant="+ GPU")) == "LiteRT + GPU"


# Intervals


def test_speedups_are_of_one_run_by_means_and_paired_by_round():
    base = timed(ms=100.0, rounds=(0.8, 1.2, 1.0, 1.0, 1.0))
    own = timed("s", 20.0, rounds=(0.8, 1.2, 1.0, 1.0, 1.0))
    assert speedup(base, own) == Interval(pytest.approx(5), pytest.approx(5), pytest.approx(5))
    assert speedup(timed(ms=100.0), timed("s", 20.0)) == 5
    assert speedup(base, timed("s", 20.0, date="2025-01-02T00:00:00Z")) is None
    assert speedup(base, timed("s", 20.0, machine=Machine("6502"))) is None
    for change in ({"rounds": (1.0,) * 4}, {"rounds": (1.0,) * 5, "threads": 2}):
        assert speedup(base, timed("s", 20.0, **change)) == 5, "without an interval"
    few = (1.0,) * 4
    assert speedup(timed(rounds=few), timed("s", rounds=few)) == 1


def test_quantiles_take_the_fewer_degrees_between_two():
    assert [t_quantile(n) for n in (1, 7, 13, 1000)] == [12.71, 2.45, 2.23, 2.04]
