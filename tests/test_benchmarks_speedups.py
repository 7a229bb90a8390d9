"""Ratios of two rows of one run: worked by hand, paired round by round, and none where the two did not take turns."""

import numpy as np
import pytest
from peer_material import timed

from benchmarks.views.groups import collect
from benchmarks.views.speedups import MIN_ROUNDS, ratio, round_ratio
from benchmarks.views.tables import view_tables


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
        assert (group.longest, group.lengths_shown) == (384, [384, "real"])
        assert group.speedup(entry.at("real")) == 2
        assert group.speedup(entry.latency[128, 1]) == pytest.approx(100 / 30)
        assert (group.speedup_interval(entry.at("real")).low, group.speedup_interval(entry.at(384))) == (2, None)


def two_runs():
    """A run padded to 384 and at real lengths, and a later one padded to 128 and 256, each with the teacher."""
    later = {"date": "2025-01-02T00:00:00Z"}
    first = [timed("teacher", 100, 384), timed("teacher", 50), timed("a", 25, 384), timed("a", 10)]
    return [*first, *(timed(name, ms, n, **later) for name, ms, n in (("teacher", 60, 256), ("b", 5, 128), ("b", 15, 256)))]


def test_under_a_length_stand_times_of_that_length_alone():
    table = view_tables(collect(two_runs()), "summary")[0]
    found = {cells[0]: dict(zip(table.headings, cells, strict=True)) for cells in table.cells}
    assert (found["a"]["ms@384"], found["a"]["x@384"]) == ("25.0", "4.00x (4.00–4.00)")
    assert (found["b"]["ms@384"], found["b"]["x@384"], found["b"]["ms@real"]) == ("–", "–", "–")
    assert "ms: median of the runtime call for one window, 1 thread, padded to 384 or as short as the runtime allows (real)" in (
        table.notes
    )
    only_two_threads = [row | {"threads": 2} for row in two_runs()]
    assert "x@384" not in view_tables(collect(only_two_threads), "summary")[0].headings


def test_a_note_says_what_x_is_against_in_every_run_shown():
    summary, latency = (view_tables(collect(two_runs()), view)[0] for view in ("summary", "latency"))
    assert any("x: times as fast as teacher padded to 384 at 1 thread" in note for note in summary.notes)
    assert any("teacher padded to the greatest length of the run (256 or 384) at" in note for note in latency.notes)
    of_b = [cells for cells in latency.cells if cells[0] == "b"]
    assert [cells[latency.headings.index("x mean")] for cells in of_b] == ["12.00x", "4.00x"]
