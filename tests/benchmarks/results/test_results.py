"""Results as JSON lines: what is kept, what is refused, and files that others or full disks have spoilt."""

import errno
import json
import os

import msgspec
import numpy as np
import pytest
import torch
from benchmark_results import Z80, failure, on_phone, scored, timed

from benchmarks.results.files import (
    ResultFile,
    ResultsError,
    append_result,
    exit_if_failed,
    read_results,
    sound_results,
)
from benchmarks.results.rows import Accuracy, Machine, Runtime, TargetAccuracy, TrainingSpeed
from benchmarks.results.stats import round_ratio, speedup, t_quantile
from qa.base.errors import OptionError
from qa.evaluation.bootstrap import Interval, score_interval, score_intervals


def some():
    """One of each class."""
    shared = {name: getattr(scored(), name) for name in Accuracy.__struct_fields__}
    speed = {
        "threads": 1,
        "batch": 4,
        "lengths": "unpadded",
        "objective": "loss",
        "windows_per_s": 2.0,
        "n_runs": 5,
    }
    names = [name for name in TrainingSpeed.__struct_fields__ if name in shared]
    return [
        scored("s", embeddings="pq3", by_category={"Simple": {"f1": 1.5, "total": 2}}),
        timed(quick=True),
        on_phone(),
        failure("f", unsupported=True),
        TargetAccuracy(
            **shared,
            reference="r",
            reference_f1=1.0,
            parity_max_abs=0.1,
            same_spans=1.0,
            instructions_per_window=7,
        ),
        TrainingSpeed(**{name: shared[name] for name in names}, **speed, round_windows_per_s=(1.0, 3.0)),
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
        ResultsError, match=rf"rows\.jsonl: line 2 is not a result \(.*{said}.*\); remove that line"
    ):
        read_results(path)
    results, faults = sound_results(path)
    assert results == [timed()]
    assert len(faults) == 2


def test_zero_seconds_are_refused_where_subnormal_numbers_are_flushed_to_zero(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        json.dumps(json.loads(msgspec.json.encode(timed())) | {"latency_ms_mean": 0.0}).encode() + b"\n"
    )
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
    deep = b'{"kind": "accuracy", "training": {"a": ' + b"[" * 5000 + b"\n"
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


def test_articles_are_drawn_whole():
    """20 articles of 5 questions that all agree: 20 independent draws, not 100."""
    scores = np.repeat(np.arange(20) % 2, 5) * 100.0
    articles = [f"a{n}" for n in np.repeat(np.arange(20), 5)]
    by_article, _ = score_interval(scores, articles)
    by_question, _ = score_interval(scores, ["one"] * 100)
    assert by_article.mean == by_question.mean == 50
    # Deviations: 50 / sqrt(20) = 11.2 and 50 / sqrt(100) = 5 points.
    assert (by_article.low, by_article.high) == pytest.approx((50 - 1.96 * 11.2, 50 + 1.96 * 11.2), abs=2.5)
    assert (by_question.low, by_question.high) == pytest.approx((40.2, 59.8), abs=1.1)


def test_ratios_are_paired_and_the_baselines_own_has_no_width():
    base = np.repeat([100.0, 50.0] * 10, 3)
    articles = [f"a{n}" for n in np.repeat(np.arange(20), 3)]
    own, ratios, over = score_intervals(np.stack([base, 0.9 * base], axis=1), articles, 0)
    assert over == "articles"
    assert [round(one.mean, 6) for one in own] == [75, 67.5]
    assert (ratios[0].low, ratios[0].high) == (1, 1)
    assert (ratios[1].low, ratios[1].mean, ratios[1].high) == pytest.approx(
        (0.9, 0.9, 0.9)
    )  # what both find hard moves neither
    assert score_intervals(np.zeros((9, 2)), list("abcdefghi"), 0)[1:] == ([None, None], "questions")


def test_speedups_are_of_one_run_by_means_and_paired_by_round():
    base = timed(ms=100.0, rounds=(0.8, 1.2, 1.0, 1.0, 1.0))
    own = timed("s", 20.0, rounds=(0.8, 1.2, 1.0, 1.0, 1.0))
    assert speedup(base, own) == Interval(pytest.approx(5), pytest.approx(5), pytest.approx(5))
    assert speedup(timed(ms=100.0), timed("s", 20.0)) == 5
    assert speedup(base, timed("s", 20.0, date="2025-01-02T00:00:00Z")) is None
    assert speedup(base, timed("s", 20.0, machine=Machine("6502"))) is None
    for other in (timed("s", 20.0, rounds=(1.0,) * 4), timed("s", 20.0, rounds=(1.0,) * 5, threads=2)):
        assert round_ratio(base, other) is None
    few = (1.0,) * 4
    assert round_ratio(timed(rounds=few), timed("s", rounds=few)) is None


def test_quantiles_take_the_fewer_degrees_between_two():
    assert [t_quantile(n) for n in (1, 7, 13, 1000)] == [12.71, 2.45, 2.23, 2.04]
