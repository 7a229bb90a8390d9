"""Convert with the converter that is named: what `python -m qa.data.convert` does."""

from typing import Annotated

import tyro

from qa.data.convert import olp, rows, triviaqa
from qa.data.convert.olp import OLPOptions
from qa.data.convert.report import Report
from qa.data.convert.rows import RowsOptions
from qa.data.convert.triviaqa import TriviaQAOptions

Options = (
    Annotated[RowsOptions, tyro.conf.subcommand("rows")]
    | Annotated[TriviaQAOptions, tyro.conf.subcommand("triviaqa")]
    | Annotated[OLPOptions, tyro.conf.subcommand("olp")]
)


def convert(options: Options) -> Report:
    """Convert with the converter whose options these are."""
    if isinstance(options, RowsOptions):
        return rows.convert_rows(options)
    if isinstance(options, OLPOptions):
        return olp.convert_olp(options)
    return triviaqa.convert_triviaqa(options)
