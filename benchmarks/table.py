"""Tables of result rows for the terminal and for Markdown.

    python -m benchmarks.table runs/demo/rows.jsonl
    python -m benchmarks.table benchmarks/results/intel-xeon-2core.jsonl --view latency --markdown
    python -m benchmarks.table benchmarks/results/intel-xeon-2core.jsonl --view family --write README.md

The last replaces what stands between <!-- results:begin family --> and <!-- results:end family --> in README.md.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks.rows import read_rows
from benchmarks.views.cells import Table
from benchmarks.views.groups import Group, collect, newest_order
from benchmarks.views.tables import VIEWS, view_tables
from qa.cli import check_option, run_command
from qa.errors import OptionError
from qa.files import check_writable, write_whole

FAMILY = "family"
HINTS = {
    "arm": "; python benchmarks/compare.py --target writes such rows",
    "training": "; python benchmarks/training.py writes such rows",
    "peers": "; it takes rows of peers and of exports of the same PyTorch bundle, with parent_sha256",
}


@dataclass(frozen=True)
class TableConfig:
    """Which rows to show, how, and where."""

    rows: tyro.conf.Positional[Path]
    """File of result rows."""
    view: str = "summary"
    """summary (a line for each model), family (the same without peers), latency (one for each setting; phones are here),
    accuracy, peers (our best export against what other tools made of the same model), arm (rows of --target), or training (rows
    of benchmarks/training.py)."""
    data: str | None = None
    """Only rows of this data file, by its name; all when not given."""
    markdown: bool = False
    """Print Markdown instead of text."""
    write: Path | None = None
    """Markdown file whose marked part is replaced by the table."""
    name: str | None = None
    """Name of the marked part; by default that of the view."""
    plot: Path | None = None
    """SVG file to draw F1 against latency into."""

    def __post_init__(self) -> None:
        views = (*VIEWS, FAMILY)
        check_option(self.view in views, "--view", self.view, f"one of {', '.join(views)}")
        if self.plot is not None:
            check_writable(self.plot, "--plot")


def as_text(table: Table) -> str:
    """Aligned columns for a terminal."""
    lines = [table.headings, *table.cells]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.headings))]

    def line_of(cells: tuple[str, ...]) -> str:
        aligned = [c.ljust(w) if i < table.n_left else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
        return "  ".join(aligned).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([table.title, line_of(table.headings), rule, *map(line_of, table.cells), *table.notes]) + "\n"


def as_markdown(table: Table) -> str:
    """A GitHub table with its title and notes."""
    rule = [":--" if column < table.n_left else "--:" for column in range(len(table.headings))]
    escaped = [[_plain(cell).replace("|", "\\|") for cell in line] for line in (table.headings, rule, *table.cells)]
    lines = [f"| {' | '.join(line)} |" for line in escaped]
    notes = [f"<sub>{_plain(note)}</sub><br>" for note in table.notes]
    return "\n".join([f"**{_plain(table.title)}**", "", *lines, "", *notes]) + "\n"


def _plain(text: str) -> str:
    """Without meaning as HTML, which Markdown passes on: names are a user's own."""
    return html.escape(text, quote=False)


def replace_marked(text: str, name: str, content: str, where: str) -> str:
    """Replace what stands between the two markers of `name`. OptionError when they are not there just once, in order."""
    begin, end = f"<!-- results:begin {name} -->", f"<!-- results:end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise OptionError(f"{where}: needs one line {begin} and after it one line {end}; the table goes between them")
    head, rest = text.split(begin)
    return f"{head}{begin}\n{content.strip()}\n{end}{rest.split(end)[1]}"


def write_plot(groups: Sequence[Group], path: Path) -> None:
    """Draw the first group's F1 against latency. OptionError when its latency was not measured."""
    from benchmarks.views.plots import as_file, latency_scatter

    svg = latency_scatter(groups[0]) if groups else None
    if svg is None:
        raise OptionError(f"--plot {path}: the rows hold no latency; run benchmarks/compare.py without --skip-latency")
    write_whole(path, as_file(svg))


def main(config: TableConfig) -> str:
    """Print the tables, or write them into a file. Returns them as text."""
    rows = [row for row in read_rows(config.rows) if config.data in (None, row.get("data", {}).get("name"))]
    if config.view == FAMILY:
        rows = [row for row in rows if "peer" not in row]
    groups = collect(rows, newest_order(rows))
    tables = view_tables(groups, "summary" if config.view == FAMILY else config.view)
    if not tables:
        wanted = f"{config.view}{f' for {config.data}' if config.data else ''}"
        hint = "; rows of a phone are in --view latency" if any(group.on_phone for group in groups) else ""
        hint = HINTS.get(config.view, hint)
        raise OptionError(f"{config.rows}: holds nothing to show as {wanted}{hint}")
    if config.plot is not None:
        write_plot(groups, config.plot)
    render = as_markdown if config.markdown or config.write else as_text
    text = "\n".join(render(table) for table in tables)
    if config.write is None:
        print(text, end="")
        return text
    if not config.write.is_file():
        raise OptionError(f"--write {config.write}: no such file; give a Markdown file with markers")
    old = config.write.read_text(encoding="utf-8")
    write_whole(config.write, replace_marked(old, config.name or config.view, text, str(config.write)))
    return text


if __name__ == "__main__":
    run_command(TableConfig, main)
