"""Fit the shipped student to your questions: from a file of them to a file for phones in one command.

    python -m benchmarks.fit mine.csv --out runs/mine

The questions are checked and converted. A part of their texts is held out. The student trains on the other
texts with the rounding of the export, and is exported to TFLite int8. Its file is compared with the shipped
file, or with the model of --model, on the held-out part. The same command continues a stopped run.
"""

import math
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.files import check_new_folder
from qa.base.shipped import STUDENT, shipped


@dataclass(frozen=True)
class FitOptions:
    """Train the shipped student on your questions, export it, and compare it with the shipped file."""

    file: Positional[str]
    """Questions: CSV, TSV, JSON lines, Parquet, SQuAD JSON, or what else `convert rows` reads."""
    out: Path
    """Folder to create. A stopped run in it continues."""
    model: Path | None = None
    """PyTorch bundle to train, or a transformers checkpoint; by default the shipped student."""
    epochs: float = 4
    """Passes over the questions that are not held out."""
    learning_rate: float = 1e-4
    """Peak learning rate; a BERT-base needs less, 3e-5 to 5e-5."""

    def __post_init__(self) -> None:
        check_option(0 < self.epochs < math.inf, "--epochs", self.epochs, "above 0 and finite")
        check_option(0 < self.learning_rate < 1, "--learning-rate", self.learning_rate, "in (0, 1)")
        check_new_folder(self.out, "--out")
        if self.model is None:
            shipped(STUDENT, "--model")


if __name__ == "__main__":
    run_command("fit")
