"""CSV and TSV as records: which delimiter and which quotation marks a table has is told from the table."""

import csv
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from qa.base.errors import SquadFormatError, first_few
from qa.data.layouts import Record, column_name

DELIMITERS = ",;\t|"
LINE_END = re.compile(r"\r\n?|\n")
DOUBTFUL = "quotation marks may be of the table or of the text; quote all cells of the table or none"
QUOTE = "put a cell with quotation marks into such marks and double those inside"
Row = tuple[int, int, list[str]]
"""First line of a record, its last line, and its cells."""


def read_table(path: Path, text: str) -> Iterator[Record]:
    """Yield the records of a table. SquadFormatError names the lines that do not fit its header."""
    n_skipped = 0
    if "\n" not in text:  # line ends of old Macs
        text = text.replace("\r", "\n")
    first, *rest = LINE_END.split(text, maxsplit=1)
    given = re.fullmatch(r'"?sep=(.)"?', first)  # Excel's own line
    if given:
        n_skipped = 1
        text = "".join(rest)
        first = LINE_END.split(text, maxsplit=1)[0]
    if not first.strip():
        first = LINE_END.split(text.lstrip("\r\n"), maxsplit=1)[0]
    delimiter = given[1] if given else _delimiter(first)
    rows, doubtful = _rows(path, text, delimiter, n_skipped)
    if not rows:
        return
    header = rows[0][2]
    plain = ((name, column_name(name)) for name in header)
    # As they are where another column has the name in lower case.
    columns = [name if name != low and low in header else low for name, low in plain]
    if len(columns) == 1:
        raise SquadFormatError(
            f"{path}: one column only, {header[0].strip()!r}; part the cells by commas, semicolons or tabs"
        )
    if twice := sorted({repr(column) for column in columns if column and columns.count(column) > 1}):
        raise SquadFormatError(f"{path}: column {first_few(twice)} occurs twice; rename or remove one")
    unfit = {last: len(cells) for _, last, cells in rows if len(cells) != len(columns)}
    if unfit:
        lines = first_few(list(map(str, unfit)))
        n_found = " or ".join(map(str, sorted(set(unfit.values()))))
        correct = ["quote those that contain"] if max(unfit.values()) > len(columns) else []
        if len(unfit) == len(rows) - 1 > 1 and n_found == str(len(columns) + 1):
            correct.append("or name the first column of the header before its")
        correct += ["an empty one, too, needs its"] if min(unfit.values()) < len(columns) else []
        raise SquadFormatError(
            f"{path}: line {lines}: expected {len(columns)} fields, found {n_found}; "
            f"{'; '.join(f'{do} {delimiter!r}' for do in correct)}"
        )
    for start, last, cells in rows[1:]:
        place = f"line {last}"
        fault = DOUBTFUL if last in doubtful else ""
        if last > start and _swallows(columns, cells, delimiter):
            place = f"lines {start} to {last}"
            fault = f"a quotation mark begins a cell and does not close in its line; {QUOTE}"
        yield Record(place, dict(zip(columns, cells, strict=True)), fault)


def _delimiter(header: str) -> str:
    """Return the delimiter that parts question and context, else the most frequent one."""

    def fitness(delimiter: str) -> tuple[bool, int]:
        cells = next(csv.reader([header[: csv.field_size_limit()]], delimiter=delimiter), [])
        names = {cell.strip().lower().removesuffix("_text") for cell in cells}
        return {"question", "context"} <= names, len(cells)

    return max(DELIMITERS, key=fitness)


def _rows(path: Path, text: str, delimiter: str, n_skipped: int) -> tuple[list[Row], set[int]]:
    """Return the header and the records, and the lines whose quotation marks are not certain.

    A TSV may be written with quotation or without.
    """
    doubtful: set[int] = set()
    fault = None
    try:
        quoted = list(_quoted(path, text, delimiter, n_skipped))
        fits = len({len(cells) for _, _, cells in quoted}) <= 1
    except SquadFormatError as error:
        fault, fits, quoted = error, False, []
    if delimiter == "\t" and re.search(r'^"|\t"', text, re.MULTILINE):
        lines = enumerate(text.split("\n"), start=1 + n_skipped)
        plain = [(n, n, line.removesuffix("\r").split("\t")) for n, line in lines if line.strip("\r")]
        plain_fits = len({len(cells) for _, _, cells in plain}) == 1 and '"' not in text.partition("\n")[0]
        if plain_fits and fits and len(quoted) == len(plain):
            doubtful = _doubtful(plain[1:])
        elif plain_fits:
            escaped = [str(n) for n, _, cells in plain if any(map(_is_escaped, cells))]
            if escaped:
                raise SquadFormatError(
                    f"{path}: line {first_few(escaped)}: has quoted cells, but other lines have quotation "
                    "marks that do not close; quote all such cells or none"
                )
            return plain, doubtful
    if fault is not None:
        raise fault
    return quoted, doubtful


def _is_escaped(cell: str) -> bool:
    """Return True for a cell in quotation marks with doubled ones inside, and no single one."""
    inside = cell[1:-1]
    is_quoted = len(cell) > 3 and cell[0] == cell[-1] == '"'
    return is_quoted and '""' in inside and '"' not in inside.replace('""', "")


def _quoted(path: Path, text: str, delimiter: str, n_skipped: int) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(sys.maxsize)  # a passage has any length
    start = 1
    try:
        for cells in reader:
            if cells:
                yield start + n_skipped, reader.line_num + n_skipped, cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise SquadFormatError(f"{path}: line {start + n_skipped}: {error}; {QUOTE}") from None
    finally:
        csv.field_size_limit(limit)


def _doubtful(plain: list[Row]) -> set[int]:
    """Return the lines where marks that no table needs are around some cells of a column only.

    Excel puts marks around the cells that hold a comma, and around no others.
    """
    found: set[int] = set()
    all_cells = [cell for _, _, cells in plain for cell in cells]
    if all((len(cell) > 1 and cell[0] == cell[-1] == '"') == ("," in cell) for cell in all_cells):
        return found
    for column in zip(*(cells for _, _, cells in plain), strict=True):
        wrapped = [re.fullmatch('"[^"]+"', cell) is not None for cell in column]
        if not all(cell.startswith('"') for cell in column):
            found |= {line for (line, _, _), is_wrapped in zip(plain, wrapped, strict=True) if is_wrapped}
    return found


def _swallows(columns: list[str], cells: list[str], delimiter: str) -> bool:
    """Return whether a cell of several lines rather is several records: each line has all fields.

    Texts hold commas, so where tabs do not part the cells each line must also have its answer in its context.
    """
    for number, cell in enumerate(cells):
        first, *further = cell.split("\n")
        if not further:
            continue
        parts = [line.split(delimiter) for line in (first, *further)]
        parts[0] = cells[:number] + parts[0]
        parts[-1] = parts[-1] + cells[number + 1 :]
        if all(len(part) == len(columns) for part in parts):
            return delimiter == "\t" or all(
                _is_answered(dict(zip(columns, part, strict=True))) for part in parts
            )
    return False


def _is_answered(fields: dict[str, str]) -> bool:
    answer = next((fields[name] for name in ("answer", "answers", "answer_text") if name in fields), "")
    return answer.strip(' "\r') != "" and answer.strip(' "\r') in fields.get("context", "")
