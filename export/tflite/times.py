"""Measure what attention heads and feed-forward neurons cost in milliseconds, for --target-ms.

python -m export.tflite.times --model runs/demo/teacher --out times.json

Narrower and shorter copies of the model are exported to TFLite and run in turns. Their weights do not matter,
their sizes do. The time of a window is a sum over layers, heads and neurons, whose terms are fitted by least
squares.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from export.tflite.stage import check_converter
from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.files import check_writable
from qa.formats.precision import INTEGER_BITS


@dataclass(frozen=True)
class TimesConfig:
    """Measure on this machine, with one thread, the LiteRT time of heads and neurons of a model's width."""

    model: Path
    """PyTorch bundle, or a transformers checkpoint, as wide as the students will be."""
    out: Path
    """JSON file to write."""
    quantize: Annotated[str, arg(help=f"Precision of the exports: {' or '.join(INTEGER_BITS)}.")] = "int8"
    rounds: int = 30
    """Number of times that each copy computes a window of each length, in turns."""

    def __post_init__(self) -> None:
        check_option(self.quantize in INTEGER_BITS, "--quantize", self.quantize, " or ".join(INTEGER_BITS))
        check_option(self.rounds >= 3, "--rounds", self.rounds, "at least 3")
        check_writable(self.out, "--out")


def main(config: TimesConfig) -> dict[str, Any]:
    """Export, measure and fit; return the table that is written."""
    check_converter()
    from export.tflite.timing import measure_times

    return measure_times(config)


if __name__ == "__main__":
    run_command("export times")
