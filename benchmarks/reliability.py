"""Reliability plots: how often results of each probability were right, one plot for each calibrated model.

python benchmarks/compare.py BUNDLE --data dev-v2.0.json --rows dev.jsonl --skip-latency
python -m benchmarks.reliability dev.jsonl --plot reliability.svg
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec
import tyro

from benchmarks.show.plots import Bins, panels_svg, reliability_panel
from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import check_new_file, check_not_an_input, write_whole


class Scores(msgspec.Struct):
    """Part of a line of results that the plot shows; without bins, the line has no probabilities."""

    model: str = ""
    """Name of the model; evaluations of version 0.2 and before have none, and go by their file."""
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

    def __post_init__(self) -> None:
        check_option(len(self.results) > 0, "results", "none", "at least one file")
        check_new_file(self.plot, "--plot")
        check_not_an_input(self.plot, "--plot", self.results)


def read_scores(path: Path) -> dict[str, Scores]:
    """Return the newest scores of every calibrated model of a file; OptionError without any."""
    try:
        lines = [msgspec.json.decode(line, type=Scores) for line in path.read_bytes().splitlines()]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OptionError(f"{path}: not a file of results ({error}); give one of compare.py") from None
    calibrated = {line.model or path.stem: line for line in lines if line.reliability}
    if not calibrated:
        raise OptionError(f"{path}: has no scores of a calibrated model; score one with compare.py")
    return calibrated


def print_reliability(options: ReliabilityOptions) -> None:
    """Draw the plots, and print the calibration errors."""
    results = [pair for path in options.results for pair in read_scores(path).items()]
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
