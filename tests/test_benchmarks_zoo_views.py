"""What the zoo says of differences, against numbers worked by hand."""

import numpy as np
import pytest

from benchmarks import zoo_views
from benchmarks.rows import OK
from benchmarks.zoo_train import QuestionScores, Training
from benchmarks.zoo_views import HeadDifference, Results, comparison_table, main_table, t_quantile
from qa.bootstrap import Interval
from qa.squad import Example

TRAINING = Training("tiny", "e", 3, {"name": "train.json", "sha256": "t"}, 100, 1e-4, 8, "adamw", False, "fp32")
DATA = {"name": "dev.json", "sha256": "d"}


def results(f1_by_head, **columns):
    """Of every head and seed, F1 of 100 questions that are right (1) or wrong (0), the right ones first."""
    examples = [Example(str(i), "", "c", "q", (), False) for i in range(100)]
    rows, scores = [], {}
    for head, values in f1_by_head.items():
        for seed, f1 in enumerate(values):
            right = {e.id: float(i < f1) for i, e in enumerate(examples)}
            scores[f"{head}-seed{seed}"] = QuestionScores(f"{head}{seed}", "d", right, right)
            row = {"model": f"{head}-seed{seed}", "bundle_sha256": f"{head}{seed}", "data": DATA, "n": 100, "f1": float(f1)}
            row |= {"exact": float(f1), "head": head, "seed": seed, "status": OK, "machine": "m"}
            rows.append(row | {"head_params": 770, "params": 10**6} | columns)
    n_seeds = max(map(len, f1_by_head.values()))
    return Results(list(f1_by_head), range(n_seeds), rows, scores, DATA, examples)


def test_differences_margin_and_spread_by_hand():
    """Squares about the means: 1 + 1 of linear, 4 + 4 of the other, over 2 degrees: deviation sqrt(5), t 4.30, two seeds each."""
    found = results({"linear": (70, 72), "pointer": (80, 84)})
    assert found.seed_deviation == (pytest.approx(5**0.5), 2)
    one = found.comparisons["pointer"]
    assert one.difference.mean == pytest.approx(11)
    assert one.by_seed == (10, 12)
    assert one.spread == 4
    assert one.seed_margin == pytest.approx(4.30 * 5**0.5)
    assert one.verdict == "exceeds noise"


def test_a_difference_that_seeds_alone_could_make_is_not_called_one():
    one = results({"linear": (70, 72), "pointer": (76, 80)}).comparisons["pointer"]
    assert one.difference.mean == pytest.approx(7)
    assert not one.difference.holds_zero
    assert one.verdict == "within the noise of seeds"


def test_one_seed_says_so_and_question_noise_comes_first():
    found = results({"linear": (70,), "pointer": (90,), "qermit-cls": (70,)}).comparisons
    assert found["pointer"].verdict == "exceeds the noise of questions; seeds not tried"
    assert found["pointer"].spread is None
    assert found["qermit-cls"].verdict == "within the noise of questions"
    negative = HeadDifference(Interval(-5, -6, -4), (-5.0,), None, 1.0)
    assert negative.verdict == "exceeds noise"


def test_a_head_with_fewer_seeds_is_compared_on_those_it_shares():
    found = results({"linear": (70, 80), "pointer": (72,)})
    one = found.comparisons["pointer"]
    assert one.difference.mean == pytest.approx(2), "against seed 0 alone"
    assert one.seed_margin == pytest.approx(12.71 * 50**0.5 * 2**0.5)


def test_quantiles_take_the_fewer_degrees_between_two():
    assert [t_quantile(n) for n in (1, 7, 13, 1000)] == [12.71, 2.45, 2.23, 2.04]


def test_scores_of_another_bundle_or_share_do_not_count():
    found = results({"linear": (70,), "pointer": (90,)})
    found.rows[1]["bundle_sha256"] = "another"
    assert list(found.accuracy) == ["linear"]
    assert found.comparisons == {}
    assert comparison_table(found) is None
    found = results({"linear": (70,)})
    found.rows[0]["n"] = 99
    assert found.accuracy == {}


def test_tables_show_answerable_and_not_where_the_data_has_both():
    found = results({"linear": (70, 72)}, HasAns_f1=60.0, HasAns_exact=50.0, NoAns_exact=90.0)
    table = main_table(found, TRAINING)
    cells = dict(zip(table.headings, table.cells[0], strict=True))
    assert (cells["F1"], cells["HasAns F1"], cells["NoAns"], cells["seeds"]) == ("71.00", "60.00", "90.00", "2")
    assert cells["ONNX fp32"] == "–"
    assert "3 layers of tiny" in table.title
    assert "HasAns F1" not in main_table(results({"linear": (70,)}), TRAINING).headings


def test_the_interval_of_f1_is_that_of_a_share_of_right_answers():
    """70 of 100 right: the deviation of the share is sqrt(0.7 x 0.3 / 100) = 4.58 points."""
    found = results({"linear": (70,)}).intervals["linear"]
    assert (found.low, found.high) == pytest.approx((70 - 1.96 * 4.58, 70 + 1.96 * 4.58), abs=1.1)
    assert np.isclose(found.mean, 70)


def test_what_int8_changes_is_of_the_export_that_is_there(monkeypatch):
    monkeypatch.setattr(zoo_views, "machine", lambda: "m")
    found = results({"linear": (70,)})
    export = {"model": "linear-seed0-onnx-int8", "bundle_sha256": "old", "data": DATA, "n": 100, "f1": 69.0, "machine": "m"}
    found.rows.append(export | {"status": OK})
    assert found.export_change("linear", "onnx-int8") == pytest.approx(-1)
    found.rows.append(export | {"bundle_sha256": "new", "f1": 71.0, "status": OK})
    assert found.export_change("linear", "onnx-int8") == pytest.approx(1)
    found.rows.append({"model": "linear-seed0-onnx-int8", "bundle_sha256": "p", "machine": "m", "status": "no memory"})
    assert found.export_change("linear", "onnx-int8") is None
