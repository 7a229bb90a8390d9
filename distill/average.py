"""Average the weights of models that were trained from one another, or from the same weights.

    python -m distill.average --models runs/first runs/second runs/third --out runs/teacher

The result costs one model's time and often answers better than each of them (model soups, Wortsman et al.
2022).
"""

from dataclasses import dataclass
from pathlib import Path

from qa.base.cli import check_option, run_command
from qa.bundles.bundle import Bundle


@dataclass(frozen=True, kw_only=True)
class AverageConfig:
    """Average the weights of models of one shape."""

    models: tuple[Path, ...]
    """PyTorch bundles or transformers checkpoints, two at least; they are left as they are."""
    out: Path
    """Bundle to create; it has the windows of the first model, and a no-answer threshold of its own."""

    def __post_init__(self) -> None:
        several = len(set(self.models)) == len(self.models) >= 2
        check_option(several, "--models", len(self.models), "two models or more, each once")


def main(config: AverageConfig) -> Bundle:
    """Open the models, save their mean and print where."""
    from distill.averaging import average

    return average(config)


if __name__ == "__main__":
    run_command(main)
