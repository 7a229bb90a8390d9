"""Comma-separated tables of the SANTO annotation tool: `# Name, Name` on top, `, ` between fields, quoted
texts.

SANTO (Hartung et al. 2018) does not escape quotation marks inside a text: one closes the text only before a
comma or the line's end. So Python's csv module cannot read it. Escaped and doubled ones are read as one. A
record is one line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from qa.base.errors import SquadFormatError, first_few

# One field and the comma or line end behind it.
_FIELD = re.compile(r'\s*+(?:"(?P<quoted>.*?)"|(?P<bare>[^",][^,]*|))\s*(?P<end>,|$)')


MOST_FAULTS = 50  # of a table in one message


class RowError(Exception):
    """Fault of one row; `Faults` notes it."""


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


@dataclass
class Faults:
    """Faults of a table's rows, in their order, and what to do about them."""

    table: Path
    faults: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    def note(self, line: int, fault: str, advice: str = "") -> None:
        """Note the fault of a row; the same advice is given once."""
        self.faults.append(f"row {line}: {fault}")
        if advice and advice not in self.advice:
            self.advice.append(advice)

    @contextmanager
    def noted(self, row: Row) -> Iterator[None]:
        """Note a RowError inside the block, and go on after the block."""
        try:
            yield
        except RowError as error:
            self.note(row.line, *error.args)

    def check(self) -> None:
        """Raise SquadFormatError, which names all faults, if there are any."""
        if self.faults:
            listed = first_few(self.faults, most=MOST_FAULTS)
            raise SquadFormatError("; ".join([f"{self.table}: {listed}", *self.advice]))


def read_table(
    path: Path,
    columns: Sequence[str],
    faults: Faults,
    other_names: Mapping[str, str] | None = None,
    *,
    may_be_empty: bool = False,
) -> Iterator[Row]:
    """Yield the wanted columns of each row, by names in any case; further columns are passed over.

    `other_names` has a second name for some columns. A row that does not fit the header goes to `faults`.

    Rows are counted from 1, the header included. Raises SquadFormatError with file and row for a file that is
    absent, empty, not UTF-8, without a wanted column, or (unless `may_be_empty`) without a record.
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
    for n, line in lines[1:]:
        fields = _split(line)
        if fields is None or not max(places.values()) < len(fields) <= len(names):
            fault = "a quotation mark that does not close" if fields is None else f"{len(fields)} fields"
            advice = f"the header names {len(names)} fields: put texts that hold commas in quotation marks"
            faults.note(n, fault, advice)
        else:
            yield Row(path, n, {column: fields[place] for column, place in places.items()})


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
