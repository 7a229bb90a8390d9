"""Ratios of two rows of one run: worked by hand, paired round by round, and none where the two did not take turns."""

import numpy as np
import pytest
from peer_material import timed

from benchmarks.views.groups import collect
from benchmarks.views.speedups import MIN_ROUNDS, ratio, round_ratio


def test_a_constant_ratio_has_an_interval_without_width_however_slow_single_rounds_were():
    slow = (1, 1, 5, 1, 1, 3, 1, 1)  # rounds in which the machine did something else: 5 and 3 times as long for both
    found = round_ratio(timed("a", 20, rounds=slow), timed("b", 10, rounds=slow))
    assert (found.mean, found.low, found.high) == pytest.approx((2, 2, 2))
    # The same slow rounds, but not for both: nothing is paired, and the interval is wide.
    other = round_ratio(timed("a", 20, rounds=slow), timed("b", 10, rounds=np.roll(slow, 1).tolist()))
    assert other.low < 1.5
    assert other.high > 3


def test_the_ratio_is_that_of_mean_times_and_not_the_mean_of_ratios():
    base, own = timed("a", 1, rounds=(10, 10, 10, 10, 60)), timed("b", 1, rounds=(5, 5, 5, 5, 5))
    found = round_ratio(base, own)
    assert found.mean == pytest.approx(100 / 25)
    assert (found.low, found.high) == pytest.approx((2, 8))  # all five draws are 10: 0.8 ** 5 = 33 %; three or more of 60: 6 %
    assert ratio(base, own) == pytest.approx(4)


def test_two_kinds_of_rounds_give_the_interval_of_their_binomial():
    """Half the rounds take 1, half 3, the other model always 1: of 100 rounds drawn, 60 are slow at the 97.5 % quantile."""
    found = round_ratio(timed("a", 1, rounds=(1, 3) * 50), timed("b", 1, rounds=(1, 1) * 50))
    assert found.mean == pytest.approx(2)
    assert (found.low, found.high) == pytest.approx((1.8, 2.2), abs=0.021)


def test_swapping_the_sides_inverts_ratio_and_interval():
    rng = np.random.default_rng(0)
    one, other = (timed(name, 10, rounds=(1 + 0.1 * rng.random(32)).tolist()) for name in "ab")
    there, back = round_ratio(one, other), round_ratio(other, one)
    assert (back.mean, back.low, back.high) == pytest.approx((1 / there.mean, 1 / there.high, 1 / there.low))


@pytest.mark.parametrize(
    ("change", "point"),
    [
        ({"date": "2025-01-02T00:00:00Z"}, None),
        ({"machine": "6502, 1 core"}, None),
        ({"round_ms": [10.0] * 7}, 2),
        ({"round_ms": None}, 2),
        ({"threads": 2}, 2),
        ({"batch": 32}, 2),
    ],
)
def test_rows_that_did_not_take_turns_have_no_interval_and_those_of_another_run_no_ratio(change, point):
    base = timed("a", 20)
    own = {key: value for key, value in (timed("b", 10) | change).items() if value is not None}
    assert round_ratio(base, own) is None
    assert ratio(base, own) == point


def test_too_few_rounds_make_no_interval():
    few, enough = ([1.0] * n for n in (MIN_ROUNDS - 1, MIN_ROUNDS))
    assert round_ratio(timed("a", 20, rounds=few), timed("b", 10, rounds=few)) is None
    assert round_ratio(timed("a", 20, rounds=enough), timed("b", 10, rounds=enough)).mean == 2


def test_speed_is_against_the_baseline_at_its_greatest_length_whatever_was_appended_last():
    rows = [timed("teacher", 100, 384), timed("teacher", 60, 256), timed("teacher", 30, 128), timed("teacher", 50)]
    for order in (rows, rows[::-1]):
        (group,) = collect(order)
        (entry,) = group.entries
        assert entry.at("padded", 1)["lengths"] == 384
        assert group.speedup(entry.at("real", 1)) == 2
        assert group.speedup(entry.latency[128, 1]) == pytest.approx(100 / 30)
        assert (group.speedup_interval(entry.at("real", 1)).low, group.speedup_interval(entry.at("padded", 1))) == (2, None)
