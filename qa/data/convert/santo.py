"""Comma-separated tables of the SANTO annotation tool: `# Name, Name` on top, `, ` between fields, quoted
texts.

SANTO (Hartung et al. 2018) does not escape quotation marks inside a text: one closes the text only before a
comma or the line's end. So Python's csv module cannot read it. Escaped and doubled ones are read as one. A
record is one line.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qa.base.errors import SquadFormatError, first_few

# One field and the comma or line end behind it.
_FIELD = re.compile(r'\s*+(?:"(?P<quoted>.*?)"|(?P<bare>[^",][^,]*|))\s*(?P<end>,|$)')


MOST_FAULTS = 50  # of a table in one message


class RowError(Exception):
    """Fault of one row; a second argument says what to do about it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record: its file and line, for messages, and its fields by column."""

    file: Path
    line: int
    fields: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.fields[column]

    def number(self, column: str) -> int:
        """Return a field as a whole number, 0 or more. RowError for another."""
        text = self.fields[column].strip()
        if not text.isdecimal():
            raise RowError(f"{column} must be a whole number, got {text!r}")
        return int(text)


def read_table(
    path: Path,
    columns: Sequence[str],
    read_row: Callable[[Row], None],
    other_names: Mapping[str, str] | None = None,
    *,
    may_be_empty: bool = False,
) -> None:
    """Call `read_row` with the wanted columns of each row, by names in any case, without further columns.

    `other_names` has a second name for some columns.

    Rows are counted from 1, the header included. Raises SquadFormatError with file and row for a file that is
    absent, empty, not UTF-8, without a wanted column, or (unless `may_be_empty`) without a record; or with
    all rows that do not fit the header or raise RowError.
    """
    lines = [(n, line) for n, line in enumerate(_read_lines(path), 1) if line.strip()]
    wanted = ", ".join(columns)
    if not lines:
        raise SquadFormatError(f"{path}: the file is empty; expected the columns {wanted}")
    first, header = lines[0]
    names = [name.strip().lstrip("#").strip().lower() for name in _split(header) or []]
    places = {}
    for column in columns:
        spellings = (column, (other_names or {}).get(column, column))
        place = next((names.index(n.lower()) for n in spellings if n.lower() in names), None)
        if place is None:
            raise SquadFormatError(
                f"{path}: row {first}: no column {column!r}; expected {wanted} (commas between), found "
                f"{', '.join(names)}"
            )
        places[column] = place
    if len(lines) == 1 and not may_be_empty:
        raise SquadFormatError(f"{path}: row {first + 1}: no records below the header")
    faults = []
    advice: dict[str, None] = {}  # the same one is given once
    for n, line in lines[1:]:
        try:
            fields = _split(line)
            if fields is None or not max(places.values()) < len(fields) <= len(names):
                raise RowError(
                    "a quotation mark that does not close" if fields is None else f"{len(fields)} fields",
                    f"the header names {len(names)} fields: put texts that hold commas in quotation marks",
                )
            read_row(Row(path, n, {column: fields[place] for column, place in places.items()}))
        except RowError as error:
            faults.append(f"row {n}: {error.args[0]}")
            advice |= dict.fromkeys(error.args[1:])
    if faults:
        raise SquadFormatError("; ".join([f"{path}: {first_few(faults, most=MOST_FAULTS)}", *advice]))


def _read_lines(path: Path) -> list[str]:
    if not path.is_file():
        raise SquadFormatError(f"{path}: no such file; give a comma-separated table")
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        raise SquadFormatError(f"{path}: row {row}: not UTF-8 text; save the table as UTF-8") from None
    # Not splitlines: a text may hold other line separators.
    return [line.removesuffix("\r") for line in text.split("\n")]


def _split(line: str) -> list[str] | None:
    """Return the fields of a line; None where a quotation mark does not close."""
    fields = []
    place = 0
    while match := _FIELD.match(line, place):
        quoted = match["quoted"]
        fields.append(match["bare"].rstrip() if quoted is None else re.sub(r'[\\"]"', '"', quoted))
        place = match.end()
        if not match["end"]:
            return fields
    return None
