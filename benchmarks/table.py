"""Tables of results for the terminal and for Markdown.

    python -m benchmarks.table runs/demo/rows.jsonl
    python -m benchmarks.table runs/demo/rows.jsonl --view summary
    python -m benchmarks.table benchmarks/results/intel-xeon-2core.jsonl --view latency
    python -m benchmarks.table benchmarks/results/intel-xeon-2core.jsonl \\
        --view summary --write PAGE.md --name x86

    python -m benchmarks.table benchmarks/results/flagship.jsonl \\
        benchmarks/results/flagship-arm64-qemu.jsonl --view card
    python -m benchmarks.table benchmarks/results/flagship.jsonl --reliability reliability.svg

The fourth command replaces the text between <!-- results:begin x86 --> and <!-- results:end x86 --> in
that file.
"""

from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks.results.files import results_of
from benchmarks.results.rows import Data
from benchmarks.show.collecting import collect, newest_order
from benchmarks.show.model_plots import write_latency_plot, write_reliability
from benchmarks.show.tables import check_markers, show
from benchmarks.show.views import VIEWS, view_tables
from benchmarks.show.waterfall import write_waterfall
from qa.base.cli import check_choice, check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import check_new_file, check_not_an_input

HINTS = {
    "card": "; it needs results of this machine's CPU, which other targets are set beside",
    "arm": "; python benchmarks/compare.py --target writes such results",
    "categories": "; questions of a data file need a category each, as those of BiQuAD have",
    "toolchains": "; it needs results of toolchains and exports of one PyTorch bundle, with parent_sha256",
}


@dataclass(frozen=True)
class TableOptions:
    """Show results as tables."""

    rows: tyro.conf.Positional[tuple[Path, ...]]
    """Files of results; those of a later file are newer. A name stands for one model in all of them."""
    view: str = "brief"
    """brief (a line for each model, 100 characters wide), summary (all columns), latency (a line for each
    setting; phones are here), accuracy, toolchains (our best export against other toolchains' exports of the
    same model), arm (results of --target), categories (scores by category), or card (sizes, times and
    scores, a line for each target)."""
    data: str | None = None
    """Only tables of the data file with this name; all by default."""
    models: tuple[str, ...] | None = None
    """Only these models; all by default."""
    write: Path | None = None
    """Markdown file; the tables, with at most ten columns, replace the text between the markers."""
    name: str | None = None
    """Name in the markers; by default that of the view."""
    plot: Path | None = None
    """SVG file to draw F1 against latency into."""
    steps: Path | None = None
    """SVG file to draw latency and size into, a bar for each model, in the order of --models."""
    reliability: Path | None = None
    """SVG file to draw reliability into: how often results of each probability were right, a plot for each
    calibrated model and data file."""

    def __post_init__(self) -> None:
        check_choice("--view", self.view, VIEWS)
        check_option(len(self.rows) > 0, "rows", "none", "at least one file")
        for name in ("plot", "steps", "reliability"):
            flag, drawing = f"--{name}", getattr(self, name)
            if drawing is not None:
                check_new_file(drawing, flag)
                check_not_an_input(drawing, flag, [*self.rows, *filter(None, [self.write])])
        check_option(self.write is not None or self.name is None, "--name", self.name, "given with --write")
        if self.write is not None:
            check_markers(self.write, self.name or self.view)


def print_tables(options: TableOptions) -> str:
    """Print the tables, or write them into a file. Return them as text."""
    results = results_of(options.rows, options.models or ())
    collected = collect(results, newest_order([r for r in results if _is_of(r.data, options.data)]))
    groups = [group for group in collected if _is_of(group.newest.data, options.data)]
    tables = view_tables(groups, options.view)
    if not tables:
        view = f"{options.view} of {options.data}" if options.data else options.view
        on_phone = any(group.on_phone for group in groups)
        hint = HINTS.get(options.view, "; use --view latency for results of a phone" if on_phone else "")
        known = dict.fromkeys(group.data_name for group in collected if group.data_name is not None)
        if options.data and not groups and known:
            hint = f"; it has those of {', '.join(known)}"
        raise OptionError(f"{' '.join(map(str, options.rows))}: has no results for the view {view}{hint}")
    if options.plot is not None:
        write_latency_plot(groups, options.plot)
    if options.reliability is not None:
        write_reliability(groups, options.reliability)
    if options.steps is not None:
        write_waterfall(groups, options.models, options.steps)
    return show(tables, options.write, options.name or options.view)


def _is_of(data: Data | None, name: str | None) -> bool:
    """Return whether results of this data are shown."""
    return name is None or (data is not None and data.name == name)


if __name__ == "__main__":
    run_command("table")
