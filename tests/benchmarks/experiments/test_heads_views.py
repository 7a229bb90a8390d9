"""What the comparison of heads says of differences, against numbers worked by hand."""

import numpy as np
import pytest
from benchmark_results import failure, records, scored

from benchmarks.experiments import heads_views
from benchmarks.experiments.base import QuestionScores
from benchmarks.experiments.heads_views import HeadDifference, HeadsResults, comparison_table, main_table
from benchmarks.results.rows import Data, Machine
from qa.data.squad import Example
from qa.evaluation.bootstrap import Interval

TRAINING = {
    "encoder": "tiny",
    "layers": 3,
    "data": {"name": "train.json"},
    "windows": 100,
    "learning_rate": 1e-4,
    "batch_size": 8,
    "optimizer": "adamw",
    "freeze_encoder": False,
}
DATA = Data("dev.json", "d")
MACHINE = Machine("m")


def results(f1_by_head, **columns):
    """Of every head and seed, F1 of 100 questions that are right (1) or wrong (0), the right ones first."""
    examples = [Example(str(i), "", "c", "q", (), False) for i in range(100)]
    rows = []
    scores = {}
    for head, values in f1_by_head.items():
        for seed, f1 in enumerate(values):
            right = {e.id: float(i < f1) for i, e in enumerate(examples)}
            scores[f"{head}-seed{seed}"] = QuestionScores(f"{head}{seed}", "d", right, right)
            own = {
                "bundle_sha256": f"{head}{seed}",
                "data": DATA,
                "n": 100,
                "exact": float(f1),
                "head": head,
                "seed": seed,
            }
            rows.append(
                scored(f"{head}-seed{seed}", float(f1), head_params=770, machine=MACHINE, **own, **columns)
            )
    n_seeds = max(map(len, f1_by_head.values()))
    return HeadsResults(list(f1_by_head), range(n_seeds), rows, scores, DATA, examples, TRAINING)


def test_differences_margin_and_spread_by_hand():
    """Squares about the means: 1 + 1 of linear, 4 + 4 of the other, over 2 degrees: deviation sqrt(5), t
    4.30, two seeds each."""
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


def test_scores_of_another_bundle_or_share_do_not_count():
    found = results({"linear": (70,), "pointer": (90,)})
    found.results[1].bundle_sha256 = "another"
    assert list(found.accuracy) == ["linear"]
    assert found.comparisons == {}
    assert comparison_table(found) is None
    found = results({"linear": (70,)})
    found.results[0].n = 99
    assert found.accuracy == {}


def test_tables_show_answerable_and_not_where_the_data_has_both():
    found = results({"linear": (70, 72)}, HasAns_f1=60.0, HasAns_exact=50.0, NoAns_exact=90.0)
    table = main_table(found)
    (cells,) = records(table)
    assert (cells["F1"], cells["HasAns F1"], cells["NoAns"], cells["seeds"]) == (
        "71.00",
        "60.00",
        "90.00",
        "2",
    )
    assert cells["ONNX fp32"] == "–"
    assert "3 layers of tiny" in table.title
    assert "HasAns F1" not in main_table(results({"linear": (70,)})).headings


def test_the_interval_of_f1_is_that_of_a_share_of_right_answers():
    """70 of 100 right: the deviation of the share is sqrt(0.7 x 0.3 / 100) = 4.58 points."""
    found = results({"linear": (70,)}).intervals["linear"]
    assert (found.low, found.high) == pytest.approx((70 - 1.96 * 4.58, 70 + 1.96 * 4.58), abs=1.1)
    assert np.isclose(found.mean, 70)


def test_what_int8_changes_is_of_the_export_that_is_there(monkeypatch):
    monkeypatch.setattr(heads_views, "machine", lambda: MACHINE)
    found = results({"linear": (70,)})
    own = {"data": DATA, "n": 100, "machine": MACHINE}
    found.results.append(scored("linear-seed0-onnx-int8", 69.0, bundle_sha256="old", **own))
    assert found.change("linear", "onnx-int8") == pytest.approx(-1)
    found.results.append(scored("linear-seed0-onnx-int8", 71.0, bundle_sha256="new", **own))
    assert found.change("linear", "onnx-int8") == pytest.approx(1)
    found.results.append(failure("linear-seed0-onnx-int8", "no memory", machine=MACHINE))
    assert found.change("linear", "onnx-int8") is None
