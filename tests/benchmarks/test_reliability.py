"""Reliability plots: drawn from evaluations, and the committed one from the committed figures."""

import json
from pathlib import Path

import pytest
from benchmark_results import scored, timed
from places import ROOT

from benchmarks.reliability import ReliabilityOptions, print_reliability
from benchmarks.results.files import append_result
from qa.base.errors import OptionError

RESULTS = ROOT / "benchmarks" / "results"
ERRORS = {"calibration_error": 6.25, "uncalibrated_calibration_error": 12.5}
WRONG_BINS = json.dumps({"reliability": [1], "uncalibrated_reliability": []} | ERRORS)
UNREADABLE = ('{"model": "\udcff"}', '{"f1": ' + "[" * 100_000)
ORDER = ("squad-2.0", "search-queries", "privacy-policies", "football")


def test_the_committed_plot_is_that_of_the_committed_figures(tmp_path, capsys):
    files = tuple(RESULTS / "reliability" / f"{name}.json" for name in ORDER)
    print_reliability(ReliabilityOptions(files, tmp_path / "plot.svg"))
    assert (tmp_path / "plot.svg").read_bytes() == (RESULTS / "reliability.svg").read_bytes()
    printed = capsys.readouterr().out.splitlines()
    for line, file in zip(printed[:-1], files, strict=True):
        result = json.loads(file.read_text())
        assert line.startswith(f"{file.stem}: expected calibration error {result['calibration_error']:.1f} ")


def test_results_of_a_comparison_are_drawn_by_their_newest_scores(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    bins = {"reliability": [(0.5, 0.5, 4)], "uncalibrated_reliability": [(0.6, 0.5, 4)]}
    old = {"calibration_error": 1.0, "uncalibrated_calibration_error": 2.0}
    for result in (scored("sure", **old, **bins), timed("sure"), scored(), scored("sure", **ERRORS, **bins)):
        append_result(rows, result)
    print_reliability(ReliabilityOptions((rows,), tmp_path / "plot.svg"))
    (line, _) = capsys.readouterr().out.splitlines()
    assert line.startswith("sure: expected calibration error 6.2 ")


@pytest.mark.parametrize("content", ["{", "[]", '{"f1": 1.0}', WRONG_BINS, *UNREADABLE])
def test_what_has_no_scores_of_a_calibrated_model_is_named(tmp_path, content):
    (tmp_path / "dev.json").write_text(content, errors="surrogateescape")
    with pytest.raises(OptionError, match=r"dev\.json: (not a file of results|has no scores)"):
        print_reliability(ReliabilityOptions((tmp_path / "dev.json",), tmp_path / "plot.svg"))
    with pytest.raises(OptionError, match=r"--plot .*is an input"):
        ReliabilityOptions((tmp_path / "dev.json",), tmp_path / "dev.json")
    with pytest.raises(OptionError, match="results must be at least one file"):
        ReliabilityOptions((), Path("plot.svg"))
