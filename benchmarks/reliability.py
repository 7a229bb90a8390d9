"""Reliability plots: how often results of each probability were right, one plot for each calibrated model
and data file.

python benchmarks/compare.py BUNDLE --data dev-v2.0.json --rows dev.jsonl --skip-latency
python -m benchmarks.reliability dev.jsonl --plot reliability.svg
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import tyro

from benchmarks.show.plots import Bins, panels_svg, reliability_panel
from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import check_new_file, check_not_an_input, write_whole


class ScoredData(msgspec.Struct):
    """Data file of a line of results."""

    name: str = ""


class Scores(msgspec.Struct):
    """Part of a line of results that the plot shows; without bins, the line has no probabilities."""

    model: str = ""
    """Name of the model; evaluations of version 0.2 and before have none, and go by their file."""
    data: ScoredData | None = None
    reliability: Bins = ()
    uncalibrated_reliability: Bins = ()
    calibration_error: float = 0.0
    uncalibrated_calibration_error: float = 0.0


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


def read_scores(path: Path, models: tuple[str, ...] = ()) -> dict[Place, Scores]:
    """Return the newest scores of every calibrated model on every data file; OptionError without any."""
    try:
        lines = [msgspec.json.decode(line, type=Scores) for line in path.read_bytes().splitlines()]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OptionError(f"{path}: not a file of results ({error}); give one of compare.py") from None
    calibrated = {
        (line.model or path.stem, line.data.name if line.data else ""): line
        for line in lines
        if line.reliability and (not models or line.model in models)
    }
    if not calibrated:
        raise OptionError(f"{path}: has no scores of a calibrated model; score one with compare.py")
    return calibrated


def titles(places: Sequence[Place]) -> list[str]:
    """Name each plot by its model, its data file, or both: by what differs among the plots."""
    n_models, n_files = (len(set(names)) for names in zip(*places, strict=True))
    if n_files == 1:
        return [model for model, _ in places]
    return [data if n_models == 1 else ", ".join(filter(None, (model, data))) for model, data in places]


def print_reliability(options: ReliabilityOptions) -> None:
    """Draw the plots, and print the calibration errors."""
    scores = [pair for path in options.results for pair in read_scores(path, options.models).items()]
    names = titles([place for place, _ in scores])
    results = [(name, result) for name, (_, result) in zip(names, scores, strict=True)]
    panels = [
        reliability_panel(name, result.reliability, result.uncalibrated_reliability)
        for name, result in results
    ]
    options.plot.parent.mkdir(parents=True, exist_ok=True)
    write_whole(options.plot, panels_svg(panels))
    for name, result in results:
        print(
            f"{name}: expected calibration error {result.calibration_error:.1f} percentage points, "
            f"{result.uncalibrated_calibration_error:.1f} before calibration"
        )
    print(f"plot: {options.plot}")


if __name__ == "__main__":
    run_command("reliability")
