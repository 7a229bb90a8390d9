"""A waterfall: where a speed-up comes from, with bars of latency and size for each model."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.results.rows import Latency
from benchmarks.results.stats import mean_of, speedup
from benchmarks.show.columns import runtime_of
from benchmarks.show.groups import Entry, Group
from benchmarks.show.plots import COLOURS, GREY
from qa.base.errors import OptionError
from qa.base.files import write_whole

WIDTH = 780
TOP = 44  # height of the headings
ROW = 46  # height of a model's row
BAR = 22  # height of a bar
MS = (262, 240)  # left end and greatest width of the bars of latency
MB = (610, 100)  # the same, of the bars of size


@dataclass(frozen=True)
class Step:
    """A model, and its speed-up over the one above."""

    name: str
    form: str
    ms: float
    mb: float
    gain: str = ""


def write_waterfall(groups: Sequence[Group], models: Sequence[str] | None, path: Path) -> None:
    """Draw the models of the first group with two timed unpadded, in the order given.

    OptionError without such a group.
    """
    order = list(models or ())
    timed = next((pairs for pairs in map(_timed, groups) if len(pairs) > 1), [])
    timed.sort(key=lambda pair: order.index(pair[0].model) if pair[0].model in order else len(order))
    if not timed:
        raise OptionError(f"--steps {path}: fewer than two of the models were timed unpadded; name others")
    rows = [row for _, row in timed]
    gains = ["", *(_gain(above, row) for above, row in pairwise(rows))]
    if len(rows) > 2 and (in_all := mean_of(speedup(rows[0], rows[-1]))):
        gains[-1] += f", {in_all:.0f}x in all"
    write_whole(path, waterfall_svg([_step(*pair, gain) for pair, gain in zip(timed, gains, strict=True)]))


def _timed(group: Group) -> list[tuple[Entry, Latency]]:
    return [(entry, row) for entry in group.entries if (row := entry.unpadded) and row.latency_ms_mean]


def _gain(above: Latency, row: Latency) -> str:
    factor = speedup(above, row)
    return "from another run" if factor is None else f"{mean_of(factor):.1f}x as fast as above"


def _step(entry: Entry, row: Latency, gain: str) -> Step:
    newest = entry.newest
    form = f"{runtime_of(entry)}, {newest.precision}, {(newest.params or 0) / 1e6:.1f}M parameters"
    return Step(entry.model, form, row.latency_ms_mean or 0.0, (newest.size_bytes or 0) / 1e6, gain)


def waterfall_svg(steps: Sequence[Step]) -> str:
    """Draw the steps below each other. Text and bars read on light and dark pages."""
    height = TOP + ROW * len(steps)
    longest = max(step.ms for step in steps)
    largest = max(step.mb for step in steps)
    words = "; ".join(
        f"{step.name}, {step.form}: {step.ms:.1f} ms, {step.mb:.1f} MB{step.gain and ', '}{step.gain}"
        for step in steps
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{html.escape(words)}" font-family="system-ui, sans-serif" font-size="13" '
        f'fill="{GREY}">',
        f'<text x="{MS[0]}" y="22">ms for one window, unpadded, 1 thread</text>',
        f'<text x="{MB[0]}" y="22">MB</text>',
    ]
    for number, step in enumerate(steps):
        top = TOP + ROW * number
        middle = top + BAR / 2 + 5
        lines += [
            f'<text x="8" y="{top + 9}" font-weight="600">{html.escape(step.name)}</text>',
            f'<text x="8" y="{top + 25}" font-size="11.5">{html.escape(step.form)}</text>',
        ]
        bars = (
            (MS, step.ms / longest, f"{step.ms:.1f}", step.gain, COLOURS[0]),
            (MB, step.mb / largest, f"{step.mb:.1f}", "", COLOURS[1]),
        )
        for (left, most), share, figure, gain, colour in bars:
            width = max(1.0, most * share)
            lines += [
                f'<rect x="{left}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2" fill="{colour}"/>',
                f'<text x="{left + width + 8:.1f}" y="{middle}"><tspan font-weight="600">{figure}</tspan>'
                f'<tspan dx="10">{gain}</tspan></text>',
            ]
    return "\n".join([*lines, "</svg>\n"])
