"""Other data sets as SQuAD 2.0 JSON.

    python -m qa.data.convert rows questions.csv --out questions.json
    python -m qa.data.convert triviaqa --questions qa/wikipedia-train.json \\
        --evidence evidence --out triviaqa.json
    python -m qa.data.convert olp --tokens tokens/*.csv --questions questions/*.csv \\
        --annotations annotations/*.csv --out olp.json

Each prints what it converted and what it dropped, by reason; OUT.dropped.tsv names every dropped item with
its file and row.
"""

from typing import Annotated

import tyro

from qa.base.commands import run_command
from qa.data.convert import olp, rows, triviaqa
from qa.data.convert.olp import OLPConfig
from qa.data.convert.report import Report
from qa.data.convert.rows import RowsConfig
from qa.data.convert.triviaqa import TriviaQAConfig

Command = (
    Annotated[RowsConfig, tyro.conf.subcommand("rows")]
    | Annotated[TriviaQAConfig, tyro.conf.subcommand("triviaqa")]
    | Annotated[OLPConfig, tyro.conf.subcommand("olp")]
)


def main(config: Command) -> Report:
    """Convert with the converter whose options these are."""
    if isinstance(config, RowsConfig):
        return rows.main(config)
    if isinstance(config, OLPConfig):
        return olp.main(config)
    return triviaqa.main(config)


if __name__ == "__main__":
    run_command("convert")
