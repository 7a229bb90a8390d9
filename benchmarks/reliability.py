"""Reliability plots: how often results of each probability were right, one plot for each calibrated model
and data file.

python benchmarks/compare.py BUNDLE --data dev-v2.0.json --rows dev.jsonl --skip-latency
python -m benchmarks.reliability dev.jsonl --plot reliability.svg
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks.results.files import results_of
from benchmarks.results.rows import Accuracy
from benchmarks.show.plots import panels_svg, reliability_panel
from benchmarks.show.tables import number
from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import check_new_file, check_not_an_input, write_whole


@dataclass(frozen=True)
class ReliabilityOptions:
    """Draw how often results of each probability were right."""

    results: tyro.conf.Positional[tuple[Path, ...]]
    """Files of results of compare.py with calibrated models."""
    plot: Path
    """SVG file to draw into."""
    models: tuple[str, ...] = ()
    """Models to draw; by default all."""

    def __post_init__(self) -> None:
        check_option(len(self.results) > 0, "results", "none", "at least one file")
        check_new_file(self.plot, "--plot")
        check_not_an_input(self.plot, "--plot", self.results)


Place = tuple[str, str]  # model, data file


def titles(places: Sequence[Place]) -> list[str]:
    """Name each plot by its model, its data file, or both: by what differs among the plots."""
    n_models, n_files = (len(set(names)) for names in zip(*places, strict=True))
    if n_files == 1:
        return [model for model, _ in places]
    return [data if n_models == 1 else ", ".join(filter(None, (model, data))) for model, data in places]


def print_reliability(options: ReliabilityOptions) -> None:
    """Draw the plots, and print the calibration errors."""
    scores: dict[Place, Accuracy] = {}
    for result in results_of(options.results, options.models):
        if isinstance(result, Accuracy) and result.reliability:
            scores[result.model, result.data.name] = result  # the newest
    if not scores:
        files = ", ".join(map(str, options.results))
        raise OptionError(f"{files}: no scores of a calibrated model; score one with compare.py")
    results = list(zip(titles(list(scores)), scores.values(), strict=True))
    panels = [
        reliability_panel(name, result.reliability, result.uncalibrated_reliability)
        for name, result in results
    ]
    options.plot.parent.mkdir(parents=True, exist_ok=True)
    write_whole(options.plot, panels_svg(panels))
    for name, result in results:
        after = number(result.calibration_error, ".1f")
        before = number(result.uncalibrated_calibration_error, ".1f")
        print(f"{name}: expected calibration error {after} percentage points, {before} before calibration")
    print(f"plot: {options.plot}")


if __name__ == "__main__":
    run_command("reliability")
