"""Tables of results for the terminal and for Markdown.

    python -m benchmarks.table runs/demo/rows.jsonl
    python -m benchmarks.table benchmarks/results/intel-xeon-2core.jsonl --view latency --markdown
    python -m benchmarks.table benchmarks/results/intel-xeon-2core.jsonl \\
        --view family --write docs/results/x86.md

The last replaces what stands between <!-- results:begin family --> and <!-- results:end family --> in that
file.
"""

from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks.results.rows import read_results
from benchmarks.show.groups import collect, newest_order
from benchmarks.show.plots import write_latency_plot
from benchmarks.show.tables import as_markdown, check_markers, show
from benchmarks.show.views import VIEWS, view_tables
from qa.base.cli import check_option, run_command
from qa.base.errors import OptionError
from qa.base.files import check_writable

FAMILY = "family"
HINTS = {
    "arm": "; python benchmarks/compare.py --target writes such results",
    "training": "; python -m benchmarks.experiments.training_speed writes such results",
    "peers": "; it takes results of peers and of exports of the same PyTorch bundle, with parent_sha256",
}


@dataclass(frozen=True)
class TableConfig:
    """Which results to show, how, and where."""

    rows: tyro.conf.Positional[Path]
    """File of results."""
    view: str = "summary"
    """summary (a line for each model), short (its main columns), family (summary without peers), padding
    (what exact lengths gain), latency (a line for each setting; phones are here), accuracy, peers (our best
    export against what other tools made of the same model), arm (results of --target), or training (results
    of benchmarks.experiments.training_speed)."""
    data: str | None = None
    """Only results of this data file, by its name; all when not given."""
    models: tuple[str, ...] | None = None
    """Only these models; all when not given."""
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
        if self.write is not None:
            check_markers(self.write, self.name or self.view)


def main(config: TableConfig) -> str:
    """Print the tables, or write them into a file. Returns them as text."""
    results = [
        r for r in read_results(config.rows) if config.data is None or (r.data and r.data.name == config.data)
    ]
    if config.view == FAMILY:
        results = [r for r in results if r.peer is None]
    if config.models is not None:
        known = {r.model for r in results}
        unknown = sorted(set(config.models) - known)
        check_option(not unknown, "--models", ", ".join(unknown), f"among {', '.join(sorted(known))}")
        results = [r for r in results if r.model in config.models]
    groups = collect(results, newest_order(results))
    tables = view_tables(groups, "summary" if config.view == FAMILY else config.view)
    if not tables:
        wanted = f"{config.view}{f' of {config.data}' if config.data else ''}"
        hint = HINTS.get(
            config.view, "; a phone's are in --view latency" if any(g.on_phone for g in groups) else ""
        )
        raise OptionError(f"{config.rows}: has no rows for the view {wanted}{hint}")
    if config.plot is not None:
        write_latency_plot(groups[0], config.plot)
    if config.markdown and config.write is None:
        text = "\n".join(map(as_markdown, tables))
        print(text, end="")
        return text
    return show(tables, config.write, config.name or config.view)


if __name__ == "__main__":
    run_command(main)
