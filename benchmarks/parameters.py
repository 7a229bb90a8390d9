"""Parameter counts of every encoder, head and standalone model, as tables. Nothing is downloaded.

python -m benchmarks.parameters
python -m benchmarks.parameters --write docs/models.md
"""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.show.tables import check_markers, show
from qa.base.commands import run_command

MARKERS_NAME = "parameters"


@dataclass(frozen=True)
class ParametersConfig:
    """Show the parameter counts of all models."""

    write: Path | None = None
    """Markdown file; the tables replace the text between the markers of the name parameters."""

    def __post_init__(self) -> None:
        if self.write is not None:
            check_markers(self.write, MARKERS_NAME)


def main(config: ParametersConfig) -> str:
    """Print the tables, or write them into a file. Return them as text."""
    from benchmarks.show.parameter_tables import parameter_tables

    return show(parameter_tables(), config.write, MARKERS_NAME)


if __name__ == "__main__":
    run_command("parameters")
