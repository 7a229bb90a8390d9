"""Reliability plots: drawn from results, and named by what differs among them."""

import json
from pathlib import Path

import pytest
from benchmark_results import scored, timed

from benchmarks.reliability import ReliabilityOptions, print_reliability
from benchmarks.results.files import ResultsError, append_result
from benchmarks.results.rows import Data
from qa.base.errors import OptionError

ERRORS = {"calibration_error": 6.25, "uncalibrated_calibration_error": 12.5}
WRONG_BINS = json.dumps({"reliability": [1], "uncalibrated_reliability": []} | ERRORS)
UNREADABLE = ('{"model": "\udcff"}', '{"f1": ' + "[" * 100_000)


def test_a_plot_is_named_by_its_data_or_by_model_and_data(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    bins = {"reliability": [(0.5, 0.5, 4)], "uncalibrated_reliability": [(0.6, 0.5, 4)]} | ERRORS
    for model, data in (("sure", "a.json"), ("sure", "b.json"), ("other", "b.json")):
        append_result(rows, scored(model, data=Data(data, "0" * 64), **bins))

    def names(*models):
        print_reliability(ReliabilityOptions((rows,), tmp_path / "plot.svg", models))
        return [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()[:-1]]

    assert names() == ["sure, a.json", "sure, b.json", "other, b.json"]
    assert names("sure") == ["a.json", "b.json"]
    assert names("other") == ["other"]
    with pytest.raises(OptionError, match="--models must be among other, sure, got absent"):
        names("absent")


def test_results_of_a_comparison_are_drawn_by_their_newest_scores(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    bins = {"reliability": [(0.5, 0.5, 4)], "uncalibrated_reliability": [(0.6, 0.5, 4)]}
    old = {"calibration_error": 1.0, "uncalibrated_calibration_error": 2.0}
    for result in (scored("sure", **old, **bins), timed("sure"), scored(), scored("sure", **ERRORS, **bins)):
        append_result(rows, result)
    print_reliability(ReliabilityOptions((rows,), tmp_path / "plot.svg"))
    (line, _) = capsys.readouterr().out.splitlines()
    assert line.startswith("sure: expected calibration error 6.2 ")


def test_a_model_may_be_in_one_of_several_files(tmp_path, capsys):
    bins = {"reliability": [(0.5, 0.5, 4)], "uncalibrated_reliability": [(0.6, 0.5, 4)]} | ERRORS
    files = (tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    for path, model in zip(files, ("sure", "other"), strict=True):
        append_result(path, scored(model, **bins))
    print_reliability(ReliabilityOptions(files, tmp_path / "plot.svg", ("other",)))
    assert capsys.readouterr().out.startswith("other: ")


@pytest.mark.parametrize("content", ["{", "[]", '{"f1": 1.0}', WRONG_BINS, *UNREADABLE])
def test_what_has_no_scores_of_a_calibrated_model_is_named(tmp_path, content):
    (tmp_path / "dev.json").write_text(content, errors="surrogateescape")
    with pytest.raises(ResultsError, match=r"dev\.json: line 1 is not a result"):
        print_reliability(ReliabilityOptions((tmp_path / "dev.json",), tmp_path / "plot.svg"))
    append_result(tmp_path / "rows.jsonl", scored())
    with pytest.raises(OptionError, match=r"rows\.jsonl: no scores of a calibrated model"):
        print_reliability(ReliabilityOptions((tmp_path / "rows.jsonl",), tmp_path / "plot.svg"))
    with pytest.raises(OptionError, match=r"--plot .*is an input"):
        ReliabilityOptions((tmp_path / "dev.json",), tmp_path / "dev.json")
    with pytest.raises(OptionError, match="results must be at least one file"):
        ReliabilityOptions((), Path("plot.svg"))
