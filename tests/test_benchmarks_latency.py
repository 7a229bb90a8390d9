"""Timing: percentiles by hand, windows by quantile, turns in the right order, and a runtime that fails drops out alone."""

import numpy as np
import pytest

from benchmarks.latency import WARMUP_CALLS, Contender, contender, latency_figures, measure_in_turns, percentiles, sample_windows
from qa.features import Window


def window(n_tokens):
    nothing = np.zeros(0, np.int32)
    return Window(0, np.arange(n_tokens, dtype=np.int32), 2, nothing, nothing, nothing.astype(bool), 0, 0)


class FakeRuntime:
    max_batch = 1

    def __init__(self, name, calls, lengths=None, fails_at=None):
        self.name, self.lengths, self._calls, self._fails_at = name, lengths, calls, fails_at

    def __call__(self, inputs):
        self._calls.append((self.name, inputs["input_ids"].shape))
        if self._fails_at is not None and sum(name == self.name for name, _ in self._calls) > self._fails_at:
            raise RuntimeError("out of\nmemory")
        logits = np.zeros(inputs["input_ids"].shape, np.float32)
        return logits, logits


def test_percentiles_by_hand():
    # Linear between neighbours: rank p * (n - 1) of 10, 20, ..., 110 is 5, 9 and 9.9.
    times = [110.0, *range(10, 110, 10)]
    assert percentiles(times) == {
        "latency_ms_p50": 60.0, "latency_ms_p90": 100.0, "latency_ms_p99": pytest.approx(109.0), "latency_ms_mean": 60.0,
    }  # fmt: skip
    assert percentiles([7.0]) == {f"latency_ms_{name}": 7.0 for name in ("p50", "p90", "p99", "mean")}


def test_windows_are_sampled_at_even_quantiles_of_length():
    windows = [window(n) for n in (9, 1, 8, 2, 7, 3, 6, 4, 5, 10)]
    assert [len(w.input_ids) for w in sample_windows(windows, 5)] == [2, 4, 6, 8, 10]
    assert [len(w.input_ids) for w in sample_windows(windows, 99)] == list(range(1, 11))
    # Nine of ten windows are short, so nine of ten sampled ones are.
    skewed = [window(4)] * 90 + [window(8)] * 10
    assert [len(w.input_ids) for w in sample_windows(skewed, 10)] == [4] * 9 + [8]


def test_real_lengths_are_those_of_the_runtime():
    calls = []
    any_length = contender(FakeRuntime("any", calls), [window(3), window(5)], 8)
    fixed = contender(FakeRuntime("fixed", calls, lengths=(4, 8)), [window(3), window(5)], 8)
    assert [i["input_ids"].shape for i in any_length.inputs["real"]] == [(1, 3), (1, 5)]
    assert [i["input_ids"].shape for i in fixed.inputs["real"]] == [(1, 4), (1, 8)]
    assert all(i["input_ids"].shape == (1, 8) for one in (any_length, fixed) for i in one.inputs[8])


def test_models_take_turns_and_each_timed_call_follows_an_untimed_one():
    calls = []
    both = [contender(FakeRuntime(name, calls), [window(3), window(5)], 8) for name in "ab"]
    measure_in_turns(both)
    turns = calls[2 * 2 * WARMUP_CALLS :]
    names = [name for name, _ in turns]
    assert names == ["a"] * 4 + ["b"] * 4 + ["a"] * 4 + ["b"] * 4
    assert turns[0::2] == turns[1::2]  # untimed, timed
    for one in both:
        assert {lengths: len(times) for lengths, times in one.times_ms.items()} == {"real": 2, 8: 2}
        assert latency_figures(one, "real")["n_runs"] == 2
        assert latency_figures(one, 8)["n_warmup"] == WARMUP_CALLS + 2
        assert {index: logits[0].shape for index, logits in one.logits.items()} == {0: (3,), 1: (5,)}


@pytest.mark.parametrize("fails_at", [0, 2 * WARMUP_CALLS + 1])
def test_a_failing_model_drops_out_and_the_others_go_on(fails_at):
    calls = []
    bad = contender(FakeRuntime("bad", calls, fails_at=fails_at), [window(3), window(5)], 8)
    good = contender(FakeRuntime("good", calls), [window(3), window(5)], 8)
    measure_in_turns([bad, good])
    assert bad.error == "out of memory"
    assert calls.count(("bad", (1, 3))) + calls.count(("bad", (1, 5))) + calls.count(("bad", (1, 8))) == fails_at + 1
    assert good.error is None
    assert [len(times) for times in good.times_ms.values()] == [2, 2]


def test_nothing_to_measure_is_no_error():
    measure_in_turns([])
    measure_in_turns([Contender(FakeRuntime("none", []), [], {})])
