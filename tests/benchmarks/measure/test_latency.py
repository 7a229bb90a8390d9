"""What is timed: percentiles by hand, windows by quantile, rounds that together compute every window once,
columns by hand."""

import re
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.measure.conditions import Host, this_host
from benchmarks.measure.latency import window_settings
from benchmarks.measure.plan import (
    FULL,
    MIN_S,
    QUICK,
    Plan,
    Setting,
    latency_figures,
    percentiles,
    rounds,
    sample_windows,
    spread_windows,
)
from qa.text.features import Window
from qa.text.settings import QASettings


def window(n_tokens):
    nothing = np.zeros(0, np.int32)
    return Window(0, np.arange(n_tokens, dtype=np.int32), 2, nothing, nothing, nothing.astype(bool), 0, 0)


def lengths(windows):
    return [len(one.input_ids) for one in windows]


def test_percentiles_by_hand():
    # Of 10, 20, ..., 110 the first that 50, 90 and 99 % do not exceed are the sixth, the tenth and the last.
    times = np.array([[110.0], *([float(t)] for t in range(10, 110, 10))])
    assert percentiles([times]) == {
        "latency_ms_p50": 60.0,
        "latency_ms_p90": 100.0,
        "latency_ms_p99": 110.0,
        "latency_ms_mean": pytest.approx(60.0),
    }
    assert percentiles([np.array([[7.0]])]) == {
        f"latency_ms_{name}": 7.0 for name in ("p50", "p90", "p99", "mean")
    }


def test_a_quiet_round_with_more_passes_weighs_as_much_as_a_busy_one():
    quiet = np.full((8, 4), 5.0)
    busy = np.full((2, 4), 20.0)
    more_quiet = np.full((9, 4), 5.0)
    figures = percentiles([quiet, busy, busy])
    assert figures == percentiles([more_quiet, busy, busy])
    assert (figures["latency_ms_p50"], figures["latency_ms_mean"]) == (20.0, 15.0), (
        "of two thirds of the rounds"
    )


def test_windows_are_taken_at_even_quantiles_of_length():
    windows = [window(n) for n in (9, 1, 8, 2, 7, 3, 6, 4, 5, 10)]
    assert lengths(sample_windows(windows, 5)) == [2, 4, 6, 8, 10]
    assert lengths(sample_windows(windows, 99)) == list(range(1, 11))
    assert lengths(spread_windows([window(3), window(1)], 6)) == [1, 1, 1, 3, 3, 3]
    # Nine of ten windows are short, so nine of ten taken ones are.
    skewed = [window(4)] * 90 + [window(8)] * 10
    assert lengths(sample_windows(skewed, 10)) == [4] * 9 + [8]


def test_what_keeps_a_machine_from_being_idle():
    """Here it is what others do now, a busy process or none; of another machine the load of its last
    minute.
    """
    for load, wanted in ((0.7, "load 0.7"), (0.5, None), (None, None)):
        assert Host({"usable_cores": [0, 1], "load_average": load}, here=False).not_idle() == wanted
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            assert re.fullmatch(r"other processes keep \d+\.\d cores busy", this_host().not_idle())
        finally:
            other.kill()


def test_a_full_measurement_is_long_enough():
    assert FULL.n_rounds * FULL.n_windows >= 1024
    assert FULL.n_rounds * FULL.min_s >= MIN_S == 60
    assert QUICK.quick
    assert not FULL.quick
    assert QUICK.windows_in_round(Setting("unpadded", 32)) == 32


def test_rounds_compute_every_window_once_single_ones_of_all_lengths_and_batches_of_like_ones():
    single = rounds(6, 8, 1)
    batches = rounds(6, 8, 4)
    for chosen in (single, batches):
        assert sorted(row for one in chosen for row in one) == list(range(48))
    # Of 48 windows by length each round has one of the six shortest, one of the next six, and so on.
    assert all([row // 6 for row in one] == list(range(8)) for one in single)
    assert all(max(one) - min(one) == 7 for one in batches)
    assert [one[0] for one in single] != sorted(one[0] for one in single)  # shuffled


def test_columns_of_single_windows_by_hand():
    plan = Plan(n_rounds=2, n_windows=2, min_s=0, quick=True)
    turns = [
        {"times_ms": [[10.0, 30.0], [20.0, 40.0]], "n_warmup": 3, "peak_memory_mb": 70.0},
        {"times_ms": [[5.0, 15.0]], "n_warmup": 3, "peak_memory_mb": 60.0},
    ]
    found = latency_figures(turns, Setting("unpadded"), plan)
    assert found["round_ms"] == (25.0, 10.0)  # means of a window; the first round had two passes
    assert (found["n_runs"], found["n_warmup"], found["timed_s"]) == (6, 6, 0.1)
    assert found["latency_ms_mean"] == 17.5  # of rounds, not of calls
    assert found["peak_memory_mb"] == 70.0
    assert (
        found["latency_ms_p50"] == 15.0
    )  # 5 and 15 weigh a quarter each, 10, 20, 30 and 40 an eighth: half are up to 15
    assert "windows_per_s" not in found


def test_columns_of_batches_by_hand():
    plan = Plan(n_rounds=2, n_windows=8, min_s=0, quick=True)
    # Each round computes 8 windows as two batches of 4.
    turns = [{"times_ms": [[30.0, 50.0]], "n_warmup": 3}, {"times_ms": [[100.0, 140.0]], "n_warmup": 3}]
    found = latency_figures(turns, Setting("unpadded", 4), plan)
    assert found["round_ms"] == (10.0, 30.0)
    assert found["windows_per_s"] == 50.0  # 16 windows in 320 ms
    assert found["peak_memory_mb"] is None
    assert not any(key.startswith("latency_ms") for key in found)


def test_a_length_means_windows_cut_to_it():
    settings = QASettings()
    assert window_settings(settings, "unpadded") is settings
    assert window_settings(settings, 384) is settings
    short = window_settings(settings, 128)
    assert (short.max_length, short.doc_stride, short.max_question_length) == (128, 42, 21)
    assert window_settings(settings, 32).max_length == 32
    assert Setting("padded").for_model(settings) == 384
    assert Setting("unpadded").for_model(settings) == "unpadded"
    assert Setting(128).for_model(settings) == 128
