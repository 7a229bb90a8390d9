"""Differences from a baseline and whether they exceed noise, against numbers worked by hand; and the command."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from benchmark_results import DATA, scored

from benchmarks.differences import DifferencesOptions, print_differences
from benchmarks.measure.accuracy import answers_path, category_scores, save_answers
from benchmarks.results.files import append_result, read_results
from benchmarks.results.rows import CUDA, Data
from benchmarks.show.categories import category_tables
from benchmarks.show.collecting import collect
from benchmarks.show.differences import (
    Difference,
    difference_table,
    differences,
    seed_deviation,
    split_seed,
)
from qa.base.errors import OptionError
from qa.base.files import file_sha256
from qa.data.squad import Answer, Example, read_squad
from qa.evaluation.bootstrap import Interval

ARTICLES = [""] * 100


def right(n):
    """F1 in percent of 100 questions, of which the first `n` are right."""
    return 100.0 * (np.arange(100) < n)


def compared(baseline="linear", **f1):
    return {one.model: one for one in differences(seeded(**f1), baseline, ARTICLES)}


def seeded(**f1):
    """F1 of each model's seeds, of which each gets so many questions right."""
    return {f"{name}-seed{seed}": right(n) for name, counts in f1.items() for seed, n in enumerate(counts)}


def test_a_few_questions_have_no_difference():
    scores = {name: right(n)[:9] for name, n in {"a": 3, "b": 9}.items()}
    with pytest.raises(OptionError, match=r"9 questions; .* at least 10"):
        difference_table(scores, "a", [""] * 9, "dev.json")


def test_differences_margin_and_spread_by_hand():
    """Squares about the means: 1 + 1 of linear, 4 + 4 of the other, over 2 degrees: deviation sqrt(5), t 4.30."""
    models = seeded(linear=(70, 72), pointer=(80, 84))
    assert seed_deviation(models) == (pytest.approx(5**0.5), 2)
    (pointer,) = differences(models, "linear", ARTICLES)
    assert pointer.interval.mean == pytest.approx(11)
    assert (pointer.f1, pointer.by_seed, pointer.spread) == (82, (10, 12), 4)
    assert pointer.seed_margin == pytest.approx(4.30 * 5**0.5)
    assert pointer.verdict == "exceeds noise"


def test_the_verdict_names_the_noise_that_a_difference_does_not_exceed():
    seeds = compared(linear=(70, 72), pointer=(76, 80))["pointer"]
    assert (seeds.interval.mean, seeds.verdict) == (pytest.approx(7), "within the noise of seeds")
    found = compared(linear=(70,), pointer=(90,), cls=(70,))
    assert found["pointer"].verdict == "exceeds the noise of questions; seeds not tried"
    assert found["pointer"].spread is None
    assert found["cls"].verdict == "within the noise of questions"
    assert (
        Difference("cls", 1.0, Interval(-5, -6, -4), "articles", (-5.0,), None, 1.0).verdict
        == "exceeds noise"
    )


def test_a_model_with_fewer_seeds_is_compared_on_those_it_shares():
    pointer = compared(linear=(70, 80), pointer=(72,))["pointer"]
    assert pointer.interval.mean == pytest.approx(2), "against seed 0 only"
    models = seeded(linear=(70, 80), pointer=(72,))
    both = "F1 - linear: over the seeds that both have"
    assert both in difference_table(models, "linear", ARTICLES, "dev.json").footnotes
    del models["linear-seed1"]
    assert both not in difference_table(models, "linear", ARTICLES, "dev.json").footnotes
    assert pointer.seed_margin == pytest.approx(12.71 * 50**0.5 * 2**0.5)


def test_names_give_the_seed_and_a_baseline_without_one_is_compared_with_all():
    assert split_seed("4l-gelu-skip-seed12-onnx-int8") == ("4l-gelu-skip-onnx-int8", 12)
    assert split_seed("squad-512") == ("squad-512", None)
    models = {"squad": right(60), **seeded(both=(70, 72))}
    (both,) = differences(models, "squad", ARTICLES)
    assert both.by_seed == (10, 12)
    assert both.seed_margin == pytest.approx(12.71 * 2**0.5 * 1.5**0.5, rel=1e-3), (
        "squad is one draw, not two"
    )
    assert differences(models, "both", ARTICLES) == []


def test_the_noise_of_seeds_is_that_of_all_trainings_whatever_is_compared():
    models = seeded(linear=(70, 72), pointer=(80, 84))
    alone = {"cls-seed0": right(60)}
    (cls,) = differences(models | alone, "linear", ARTICLES, {"linear", "cls"})
    assert cls.seed_margin == pytest.approx(4.30 * 5**0.5 * 2**0.5)
    exports = {
        f"{model}-onnx-{precision}": f1 for model, f1 in models.items() for precision in ("fp32", "int8")
    }
    assert seed_deviation(models | exports) == seed_deviation(models)


def test_an_export_and_its_own_model_share_the_noise_of_seeds():
    models = seeded(linear=(70, 80))
    exports = {f"{model}-onnx-int8": f1 - np.where(f1 > 0, 2, 0) for model, f1 in models.items()}
    (found,) = differences(models | exports, "linear", ARTICLES)
    assert (found.seed_margin, found.verdict) == (0, "exceeds noise")


def test_models_that_share_no_seed_with_the_baseline_are_named():
    models = {"linear-seed0": right(70), "pointer-seed1": right(72), "cls-seed0": right(60)}
    table = difference_table(models, "linear", ARTICLES, "dev.json")
    assert [line[0] for line in table.cells] == ["cls"]
    assert "left out, as they share no seed with linear: pointer" in table.footnotes
    del models["cls-seed0"]
    for named in ("pointer", None):
        with pytest.raises(OptionError, match=f"--baseline linear: .*{named or 'only'}"):
            difference_table(models, "linear", ARTICLES, "dev.json")
        models.pop("pointer-seed1", None)


@pytest.fixture
def config(small_squad, tmp_path):
    """Results of three models with their answers: right, right but for one question, and none."""
    examples = read_squad(small_squad)
    rows = tmp_path / "rows.jsonl"
    data = Data(small_squad.name, file_sha256(small_squad))
    gold = {e.id: e.answers[0].text for e in examples}
    for model, n_wrong in (("right", 0), ("one-wrong", 1), ("wrong", len(examples))):
        answers = {qid: "" if i < n_wrong else text for i, (qid, text) in enumerate(gold.items())}
        f1 = 100 * (1 - n_wrong / len(examples))
        append_result(rows, scored(model, f1, data=data, n=len(examples)))
        save_answers(answers_path(rows, f"sha of {model}", data.sha256), answers)
    append_result(rows, scored("elsewhere", data=DATA))
    return DifferencesOptions(rows, baseline="right", data=str(small_squad))


def test_the_command_reads_the_answers_that_were_kept(config, small_squad, capsys):
    text = print_differences(config)
    assert text == capsys.readouterr().out
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert lines["one-wrong"][2] == f"{-100 / len(read_squad(small_squad)):+.2f}"
    assert lines["wrong"][2] == "-100.00"
    assert "elsewhere" not in lines
    assert "one-wrong" not in print_differences(replace(config, models=("wrong",)))
    on_gpu = scored("one-wrong", 1.0, data=Data(small_squad.name, file_sha256(small_squad)), target=CUDA)
    append_result(config.rows, on_gpu)
    assert print_differences(config) == text, "those of a GPU are not compared with a CPU's"
    answers_path(config.rows, "sha of wrong", file_sha256(small_squad)).unlink()
    capsys.readouterr()
    assert "wrong  " not in print_differences(config).replace("one-wrong", "")
    assert "no answers are kept of wrong;" in capsys.readouterr().err


def test_scores_of_a_gpu_are_compared_where_a_cpu_scored_other_questions_only(config, small_squad, capsys):
    text = print_differences(config)
    rows = read_results(config.rows)
    config.rows.unlink()
    for row in rows:
        append_result(config.rows, row if row.data == DATA else msgspec.structs.replace(row, target=CUDA))
    for answers in config.rows.with_suffix(".predictions").iterdir():
        answers.rename(answers.with_stem(f"{answers.stem}-{CUDA}"))
    assert print_differences(config) == text


def test_what_cannot_be_compared_is_refused(config, small_squad, tmp_path):
    data = Data(small_squad.name, file_sha256(small_squad))
    newer = scored("right", 50.0, data=data, n=len(read_squad(small_squad)))
    append_result(tmp_path / "none.jsonl", newer)
    append_result(tmp_path / "other.jsonl", scored(data=DATA))
    for change, message in (
        ({"baseline": "elsewhere"}, "--baseline must be one of"),
        ({"models": ("elsewhere",)}, "--models must be among"),
        ({"rows": tmp_path / "none.jsonl"}, "has no answers to"),
        ({"rows": tmp_path / "other.jsonl"}, "but the rows were measured on dev.json"),
    ):
        with pytest.raises(OptionError, match=message):
            print_differences(replace(config, **change))
    append_result(config.rows, newer)
    with pytest.raises(
        OptionError, match=r"has F1 100\.00, the newest result of right 50\.00; measure it again"
    ):
        print_differences(config)


def test_scores_by_category_by_hand():
    def example(qid, category):
        return Example(qid, "", "x y z", "q", (Answer("x y", 0),), False, category)

    examples = [example("0", "Simple"), example("1", "Simple"), example("2", "Temporal")]
    scores = category_scores(examples, {"0": "x y", "1": "z", "2": "y z"})
    assert scores["Simple"] == {"exact": 50, "f1": 50, "total": 2}
    assert scores["Temporal"] == {"exact": 0, "f1": pytest.approx(50), "total": 1}
    (group,) = collect([scored(by_category=scores), scored("other")])
    (table,) = category_tables(group)
    assert table.headings[-2:] == ["Simple (2)", "Temporal (1)"]
    assert [line[-2:] for line in table.cells] == [["50.00", "50.00"]]
    assert category_tables(collect([scored()])[0]) == []
