"""Reliability plots of evaluations: how often results of each probability were right, one plot for each file.

python -m qa.evaluate --data dev-v2.0.json --model BUNDLE > dev.json
python -m benchmarks.reliability dev.json other.json --plot reliability.svg
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


class Evaluated(msgspec.Struct):
    """Part of an evaluation that the plot shows."""

    reliability: Bins
    uncalibrated_reliability: Bins
    calibration_error: float
    uncalibrated_calibration_error: float


@dataclass(frozen=True)
class ReliabilityOptions:
    """Draw how often results of each probability were right."""

    results: tyro.conf.Positional[tuple[Path, ...]]
    """Files with the output of python -m qa.evaluate for calibrated models."""
    plot: Path
    """SVG file to draw into."""

    def __post_init__(self) -> None:
        check_option(len(self.results) > 0, "results", "none", "at least one file")
        check_new_file(self.plot, "--plot")
        check_not_an_input(self.plot, "--plot", self.results)


def read_result(path: Path) -> Evaluated:
    """Read an evaluation; OptionError, which names the file, for anything else."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Evaluated)
    except msgspec.DecodeError as error:
        raise OptionError(
            f"{path}: not an evaluation of a calibrated model ({error}); give what qa.evaluate printed"
        ) from None


def print_reliability(options: ReliabilityOptions) -> None:
    """Draw the plots, and print the calibration errors."""
    results = [(path.stem, read_result(path)) for path in options.results]
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
