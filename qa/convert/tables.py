"""Comma-separated tables as the SANTO annotation tool exports them: `# Name, Name` on top, `, ` between fields, texts quoted.

SANTO (Hartung et al. 2018) does not escape quotation marks inside a text, other writers of the layout write `\\"`, and a
spreadsheet doubles them; all three are read. A record is one line.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qa.errors import SquadFormatError

# One field and the comma or line end behind it. A quote closes a text only in front of a comma or the line's end.
_LENIENT_FIELD = re.compile(r'\s*+(?:"(?P<quoted>.*?)"|(?P<bare>[^",][^,]*|))\s*(?P<end>,|$)')
MAX_DIGITS = 12  # no text is longer
_OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True, slots=True)
class Row:
    """One record: its file and line, for messages, and its fields by column."""

    file: Path
    line: int
    fields: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.fields[column]

    def fault(self, message: str) -> SquadFormatError:
        """An error that names this row."""
        return SquadFormatError(f"{self.file}: row {self.line}: {message}")

    def number(self, column: str) -> int:
        """A field as a whole number, 0 or more."""
        text = self.fields[column].strip()
        if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
            raise self.fault(f"{column} must be a whole number, got {text!r}")
        return int(text)


def read_table(path: Path, columns: Mapping[str, Sequence[str]], *, may_be_empty: bool = False) -> list[Row]:
    """Read the wanted columns, given as {name: other spellings}; upper and lower case and further columns do not matter.

    Rows are counted from 1, the header included. Raises SquadFormatError with file and row for a file that is absent, empty,
    not UTF-8, separated by something else than commas, without a wanted column, or (unless `may_be_empty`) without a record,
    and for a record that does not fit the header.
    """
    lines = [(n, line) for n, line in enumerate(_read_lines(path), 1) if line.strip()]
    if not lines:
        raise SquadFormatError(f"{path}: the file is empty; expected the columns {', '.join(columns)}")
    first, header = lines[0]
    names = _header_names(_split(header) or [])
    places = {}
    for column, others in columns.items():
        place = next((names.index(n.lower()) for n in (column, *others) if n.lower() in names), None)
        if place is None:
            _refuse_other_delimiter(path, first, header, columns)
            seen = ", ".join(names)
            raise SquadFormatError(f"{path}: row {first}: no column {column!r}; expected {', '.join(columns)}, found {seen}")
        places[column] = place
    rows = []
    for n, line in lines[1:]:
        fields = _split(line, len(names))
        if fields is None or not max(places.values()) < len(fields) <= len(names):
            found = "a quotation mark that does not close" if fields is None else f"{len(fields)} fields"
            raise SquadFormatError(
                f"{path}: row {n}: {found} where the header names {len(names)}; put texts that hold commas in quotation marks"
            )
        rows.append(Row(path, n, {column: fields[place] for column, place in places.items()}))
    if not rows and not may_be_empty:
        raise SquadFormatError(f"{path}: row {first + 1}: no records below the header")
    return rows


def _read_lines(path: Path) -> list[str]:
    if not path.is_file():
        raise SquadFormatError(f"{path}: no such file; give a comma-separated table")
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        raise SquadFormatError(f"{path}: row {row}: not UTF-8 text; save the table as UTF-8") from None
    return [line.removesuffix("\r") for line in text.split("\n")]  # not splitlines: a text may hold other line separators


def _header_names(fields: Sequence[str]) -> list[str]:
    return [field.strip().lstrip("#").strip().lower() for field in fields]


def _refuse_other_delimiter(path: Path, row: int, header: str, columns: Mapping[str, Sequence[str]]) -> None:
    for delimiter, word in _OTHER_DELIMITERS.items():
        if next(iter(columns)).lower() in _header_names(header.replace('"', "").split(delimiter)):
            raise SquadFormatError(f"{path}: row {row}: columns are separated by {word}; save the table with commas")


def _split(line: str, n_wanted: int | None = None) -> list[str] | None:
    """The fields of a line: as strict CSV, or where that fails or gives too many, with quotes that nobody escaped."""
    try:
        fields = next(csv.reader([line], strict=True, skipinitialspace=True))
        if n_wanted is None or len(fields) <= n_wanted:
            return fields
    except csv.Error:
        fields = None
    return _split_leniently(line) or fields


def _split_leniently(line: str) -> list[str] | None:
    fields, place = [], 0
    while match := _LENIENT_FIELD.match(line, place):
        quoted = match["quoted"]
        fields.append(match["bare"].rstrip() if quoted is None else re.sub(r'[\\"]"', '"', quoted))
        place = match.end()
        if not match["end"]:
            return fields
    return None
