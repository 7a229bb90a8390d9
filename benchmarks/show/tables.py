"""Tables for the terminal, Markdown and HTML: a column is declared once, with the format of its figures."""

import html
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qa.base.errors import OptionError
from qa.base.files import write_whole
from qa.base.printable import on_one_line
from qa.evaluation.bootstrap import Interval

MOST_COLUMNS = 10  # of a table in Markdown, and on the page at first
UNKNOWN = "–"
WIDTH = 100  # of a table in a terminal, in characters
MIN_NAME = 12  # characters of a folded name in one line


def at_path(line: Any, path: str) -> Any:
    """Return the value at a path of attributes, such as "row.threads"; None where one is missing."""
    for name in path.split("."):
        line = getattr(line, name, None)
    return line


@dataclass(frozen=True)
class Column:
    """A heading and the cells under it: texts, figures, or figures with intervals."""

    heading: str
    source: str | Callable[[Any], Any]
    """Path of attributes of a line ("row.threads"), or a function of the line."""
    form: str | None = None
    """Format of a figure; None for names, which are aligned left."""
    scale: float = 1.0
    unit: str = ""
    mark: Callable[[Any], str] = lambda line: ""
    optional: bool = False
    """Left out of a table where no line has a value."""
    varied: bool = False
    """Left out of a table where all lines have the same value."""
    rank: int = 0
    """Columns of higher rank are left out first where a table is too wide; those of rank 0 never."""

    def value(self, line: Any) -> Any:
        """Return the cell's value; None when it is unknown."""
        return self.source(line) if callable(self.source) else at_path(line, self.source)

    def text(self, line: Any) -> str:
        """Return the cell's text."""
        value = self.value(line)
        if value is None:
            return UNKNOWN
        is_text = self.form is None or isinstance(value, str)
        text = str(value) if is_text else number(value, self.form or "", self.scale, self.unit)
        return text + self.mark(line)

    def is_shown(self, lines: Sequence[Any]) -> bool:
        """Return whether a table of these lines has this column."""
        values = [self.value(line) for line in lines]
        return (not self.optional or any(value is not None for value in values)) and (
            not self.varied or len(set(map(str, values))) > 1
        )

    def key(self, line: Any) -> float | None:
        """Return the unrounded figure to sort by."""
        value = self.value(line)
        if self.form is None or isinstance(value, str):
            return None
        return value.mean if isinstance(value, Interval) else value


@dataclass(frozen=True)
class Table:
    """Lines of any type under columns; the footnotes explain the columns and the conditions."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Any, ...]
    footnotes: tuple[str, ...] = ()

    @property
    def headings(self) -> list[str]:
        """The headings in order."""
        return [column.heading for column in self.columns]

    @property
    def details(self) -> list[Column]:
        """The columns of the highest rank beyond MOST_COLUMNS; the page hides them at first."""
        ranked = sorted((c for c in reversed(self.columns) if c.rank), key=lambda column: -column.rank)
        return ranked[: max(0, len(self.columns) - MOST_COLUMNS)]

    def fitted(self) -> "Table":
        """Leave out the details, and footnotes that explain only them."""
        hidden = {column.heading for column in self.details}
        footnotes = [text for text in self.footnotes if not {*text.split(":", 1)[0].split(", ")} <= hidden]
        columns = tuple(column for column in self.columns if column not in self.details)
        return replace(self, columns=columns, footnotes=tuple(footnotes))

    @property
    def cells(self) -> list[list[str]]:
        """The texts of all lines."""
        return [[column.text(line) for column in self.columns] for line in self.lines]


def make_table(
    title: str, columns: Sequence[Column], lines: Sequence[Any], footnotes: Sequence[str] = ()
) -> Table:
    """Return a table with the columns that are shown for these lines."""
    shown = [column for column in columns if column.is_shown(lines)]
    return Table(title, tuple(shown), tuple(lines), tuple(footnotes))


def number(value: Interval | float | None, form: str = ".2f", scale: float = 1.0, unit: str = "") -> str:
    """Return a figure as text, with the ends of its interval if it has one, or a dash when it is unknown."""
    if isinstance(value, Interval):
        return f"{number(value.mean, form, scale, unit)} ({span(value, form, scale)})"
    return UNKNOWN if value is None else f"{value * scale:{form}}{unit}"


def span(interval: Interval | None, form: str = ".2f", scale: float = 1.0) -> str:
    """Return the ends of an interval, or a dash."""
    return UNKNOWN if interval is None else f"{interval.low * scale:{form}}–{interval.high * scale:{form}}"


def in_brackets(value: Interval | float | None) -> str:
    """Return the ends of an interval in brackets after a space; empty where there is none."""
    return f" (95 %: {span(value)})" if isinstance(value, Interval) else ""


def listed(names: Sequence[str]) -> str:
    """Join names: a; a and b; a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_to_last(texts: Sequence[str]) -> str:
    """Return "first to last", or the only text."""
    return " to ".join(dict.fromkeys((texts[0], texts[-1])))


def plural(n: int, noun: str) -> str:
    """Count a noun: 1 thread, 2 threads, 10,570 questions."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def as_text(table: Table) -> str:
    """Return aligned columns for a terminal. Names are folded where that makes the table fit into WIDTH."""
    lines = [[on_one_line(cell) for cell in line] for line in (table.headings, *table.cells)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.columns))]
    gaps = 2 * (len(widths) - 1)
    room = WIDTH - gaps - sum(widths[1:])
    if room >= MIN_NAME:
        widths[0] = min(widths[0], room)

    def aligned(cells: list[str]) -> str:
        folded = [cells[0][at : at + widths[0]] for at in range(0, len(cells[0]), widths[0])]
        columns = zip([*folded[:1], *cells[1:]], widths, table.columns, strict=True)
        line = "  ".join(c.rjust(w) if column.form is not None else c.ljust(w) for c, w, column in columns)
        return "\n".join([line.rstrip(), *folded[1:]])

    footnotes = [
        textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for text in map(on_one_line, table.footnotes)
    ]
    rule = "-" * (sum(widths) + gaps)
    texts = [on_one_line(table.title), aligned(lines[0]), rule, *map(aligned, lines[1:]), *footnotes]
    return "".join(f"{text.rstrip()}\n" for text in texts)


def as_markdown(table: Table) -> str:
    """Return a GitHub table of at most MOST_COLUMNS, with its title and footnotes."""
    table = table.fitted()
    rule = [":--" if column.form is None else "--:" for column in table.columns]
    rows = [
        [_escaped(cell).replace("|", "\\|") for cell in row] for row in (table.headings, rule, *table.cells)
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    footnotes = [f"<sub>{_escaped(text)}</sub><br>" for text in table.footnotes]
    return "\n".join([f"**{_escaped(table.title)}**", "", *lines, "", *footnotes]) + "\n"


def show(tables: Sequence[Table], path: Path | None, name: str) -> str:
    """Print tables, or write them between the markers of `name` in a Markdown file. Return them as text."""
    text = "\n".join(map(as_markdown if path else as_text, tables))
    if path is None:
        print(text, end="")
    else:
        write_marked(path, name, text)
    return text


def _escaped(text: str) -> str:
    """Return text on one line without HTML, which Markdown would pass on: users choose the names."""
    return html.escape(on_one_line(text), quote=False)


def check_markers(path: Path, name: str) -> re.Match[str]:
    """Find the text between the markers of `name` in a Markdown file; group 2 is the text between them.

    OptionError unless each marker is there once, in order.
    """
    if not path.is_file():
        raise OptionError(f"--write {path}: no such file; give a Markdown file with the markers of {name}")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise OptionError(f"--write {path}: not UTF-8 text; give a Markdown file") from None
    begin = f"<!-- results:begin {name} -->"
    end = f"<!-- results:end {name} -->"
    found = re.fullmatch(f"(.*{re.escape(begin)})(.*)({re.escape(end)}.*)", text, re.DOTALL)
    if found is None or (text.count(begin), text.count(end)) != (1, 1):
        raise OptionError(
            f"--write {path}: lacks the markers of the table; add one line {begin} and then {end}"
        )
    return found


def write_marked(path: Path, name: str, content: str) -> None:
    """Replace the text between the markers of `name` in a Markdown file.

    A footnote is not repeated while the one above that explains the same, up to its colon, says the same.
    """
    found = check_markers(path, name)
    above = {_about(line): line for line in found[1].splitlines()}
    lines = []
    for line in content.strip().splitlines():
        if not _about(line) or above.get(_about(line)) != line:
            lines.append(line)
        above[_about(line)] = line
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip())
    write_whole(path, f"{found[1]}\n{text}\n{found[3]}")


def _about(line: str) -> str:
    """Return what a line of Markdown explains as a footnote; empty where it is none."""
    return line.split(": ", 1)[0] if line.startswith("<sub>") else ""
