"""Options of `python -m benchmarks.search`."""

from dataclasses import dataclass
from pathlib import Path

from qa.base.cli import check_option
from qa.base.help import Expert
from qa.bundles.bundle import Bundle
from qa.data.datasets import EMBEDDED


@dataclass(frozen=True)
class SearchConfig:
    """Find the best small file of a model, and write the model it is exported from.

    A stopped search continues with the same command: widths that are finished are not trained again."""

    model: Path
    """PyTorch bundle, or a transformers checkpoint (folder or hub name). It is not changed, and teaches the
    pruned models."""
    target_mb: float
    """Largest size of the file, with its package, in MB (millions of bytes)."""
    target_ms: float | None = None
    """Largest time of a window of the longest length in milliseconds, measured here: int8 file, one
    thread."""
    out: Path | None = None
    """Bundle to create; by default beside the model, named <model>-searched."""
    data: str = EMBEDDED
    """Training questions: a SQuAD JSON file, or embedded, squad, squad_v2. Their last articles are held out
    to score on."""
    questions: int = 300
    """Held-out questions: half of them choose the best model, the other half scores it again."""
    recovery_windows: Expert[int] = 800
    """Training windows on which each pruned model recovers; 0 for none."""
    seed: Expert[int] = 0
    """Seed for choosing and ordering these windows."""

    def __post_init__(self) -> None:
        check_option(0 < self.target_mb < float("inf"), "--target-mb", self.target_mb, "above 0 and finite")
        is_time = self.target_ms is None or 0 < self.target_ms < float("inf")
        check_option(is_time, "--target-ms", self.target_ms, "above 0 and finite")
        check_option(self.questions >= 2, "--questions", self.questions, "at least 2")
        check_option(self.recovery_windows >= 0, "--recovery-windows", self.recovery_windows, "at least 0")
        check_option(self.seed >= 0, "--seed", self.seed, "at least 0")


def main(config: SearchConfig) -> Bundle:
    """Search, print the candidates, and return the best as a bundle."""
    from benchmarks.search.steps import search

    return search(config)
