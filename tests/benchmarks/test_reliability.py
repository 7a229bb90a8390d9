"""Reliability plots: drawn from results by their newest scores, and named by what differs among them."""

import pytest
from benchmark_results import scored, timed

from benchmarks.results.files import append_result
from benchmarks.results.rows import Data
from benchmarks.show import model_plots
from benchmarks.table import TableOptions, print_tables
from qa.base.errors import OptionError


def calibrated(model="sure", right=0.5, **more):
    """Scores with one bin of probabilities, of which a share was right."""
    bins = {"reliability": [(0.5, right, 4)], "uncalibrated_reliability": [(0.6, 0.5, 4)]}
    return scored(model, **bins, **more)


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """A function: titles and calibrated points of the plots that results in several files give."""
    drawings = []
    monkeypatch.setattr(model_plots, "panels_svg", lambda panels: drawings.append(panels) or "<svg/>")

    def draw(*files, models=None):
        paths = [tmp_path / f"{number}.jsonl" for number in range(len(files))]
        for path, results in zip(paths, files, strict=True):
            path.unlink(missing_ok=True)
            for result in results:
                append_result(path, result)
        print_tables(TableOptions(tuple(paths), models=models, reliability=tmp_path / "plot.svg"))
        return {panel.title: panel.series["calibrated"] for panel in drawings.pop()}

    return draw


def test_a_plot_is_named_by_its_data_or_by_model_and_data(drawn):
    places = (("sure", "a.json"), ("sure", "b.json"), ("other", "b.json"))
    results = [calibrated(model, data=Data(name, f"sha of {name}")) for model, name in places]
    assert list(drawn(results)) == ["sure, a.json", "sure, b.json", "other, b.json"]
    assert list(drawn(results, models=("sure",))) == ["a.json", "b.json"]
    assert list(drawn(results, models=("other",))) == ["other"]
    assert list(drawn(results[:1], results[2:], models=("other",))) == ["other"]


def test_two_files_of_one_name_have_a_plot_each(drawn):
    results = [calibrated(right=right, data=Data("dev.json", f"{right}{0:015}")) for right in (0.2, 0.4)]
    assert drawn(results) == {"dev.json (0.200000)": [(50, 20)], "dev.json (0.400000)": [(50, 40)]}


def test_the_newest_scores_are_drawn(drawn):
    results = [calibrated(right=0.2), timed("sure"), scored(), calibrated(right=0.4)]
    assert drawn(results) == {"sure": [(50, 40)]}


def test_results_without_a_calibrated_model_are_refused(drawn, tmp_path):
    with pytest.raises(OptionError, match=r"--reliability .*: no scores of a calibrated model"):
        drawn([scored()])
    with pytest.raises(OptionError, match=r"--reliability .*is an input"):
        TableOptions((tmp_path / "rows.jsonl",), reliability=tmp_path / "rows.jsonl")
