"""A waterfall: where a speed-up comes from, with bars of latency and size for each model."""

import html
from collections.abc import Sequence
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
        gains[-1] += f", {in_all:.{int(in_all < 10)}f}x in all"
    write_whole(path, waterfall_svg([(*pair, gain) for pair, gain in zip(timed, gains, strict=True)]))


def _timed(group: Group) -> list[tuple[Entry, Latency]]:
    return [(entry, row) for entry in group.entries if (row := entry.unpadded) and row.latency_ms_mean]


def _gain(above: Latency, row: Latency) -> str:
    factor = speedup(above, row)
    return "from another run" if factor is None else f"{mean_of(factor):.1f}x as fast as above"


def waterfall_svg(steps: Sequence[tuple[Entry, Latency, str]]) -> str:
    """Draw models below each other, with their gain. Text and bars read on light and dark pages."""
    height = TOP + ROW * len(steps)
    times = [row.latency_ms_mean or 0.0 for _, row, _ in steps]
    sizes = [(entry.newest.size_bytes or 0) / 1e6 for entry, *_ in steps]
    words = []
    lines = []
    for number, ((entry, _, gain), ms, mb) in enumerate(zip(steps, times, sizes, strict=True)):
        newest = entry.newest
        form = f"{runtime_of(entry)}, {newest.precision}, {(newest.params or 0) / 1e6:.1f}M parameters"
        words.append(f"{newest.model}, {form}: {ms:.1f} ms, {mb:.1f} MB{gain and ', '}{gain}")
        top = TOP + ROW * number
        middle = top + BAR / 2 + 5
        lines += [
            f'<text x="8" y="{top + 9}" font-weight="600">{html.escape(newest.model)}</text>',
            f'<text x="8" y="{top + 25}" font-size="11.5">{html.escape(form)}</text>',
        ]
        bars = ((MS, ms / max(times), ms, gain, COLOURS[0]), (MB, mb / max(sizes), mb, "", COLOURS[1]))
        for (left, most), share, figure, said, colour in bars:
            width = max(1.0, most * share)
            lines += [
                f'<rect x="{left}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2" fill="{colour}"/>',
                f'<text x="{left + width + 8:.1f}" y="{middle}"><tspan font-weight="600">{figure:.1f}</tspan>'
                f'<tspan dx="10">{said}</tspan></text>',
            ]
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{html.escape("; ".join(words))}" font-family="system-ui, sans-serif" font-size="13" '
        f'fill="{GREY}">',
        f'<text x="{MS[0]}" y="22">ms for one window, unpadded, 1 thread</text>',
        f'<text x="{MB[0]}" y="22">MB</text>',
    ]
    return "\n".join([*head, *lines, "</svg>\n"])
