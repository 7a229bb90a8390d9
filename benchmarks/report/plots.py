"""Pareto plots as HTML: F1 against something of which less is better.

Marks and words are elements placed in percent of the plot, so they have one size on a phone and on a wide screen; only lines
are SVG. Every mark takes the keyboard's focus, and then, or under the pointer, shows all that is known of it. No script.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.report.html import definitions, plural, text
from benchmarks.report.settings import Setting, shown_setting
from benchmarks.rows import Row
from benchmarks.views.cells import span
from benchmarks.views.groups import Entry, Group
from benchmarks.views.names import RUNTIME_NAMES, runtime_package, tool_name
from qa.bootstrap import Interval

SHAPES = {
    "fp32": '<circle cx="6" cy="6" r="5"/>',
    "fp16": '<rect x="1.5" y="1.5" width="9" height="9"/>',
    "int8": '<path d="M6 .8 11.5 10.8H.5z"/>',
    "int8-weights": '<path d="M6 0 12 6 6 12 0 6z"/>',
    "int4": '<path d="M6 11.2.5 1.2h11z"/>',
    "int8-static": '<path d="M4 .5h4V4h3.5v4H8v3.5H4V8H.5V4H4z"/>',
}
OTHER_SHAPE = '<path d="M1 3 3 1l3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3z"/>'
MARK_PX = 13  # of a mark that is alone at its place
STEP_PX = 9  # how much larger a mark is than the one drawn over it
NEAR = 0.8  # percent of the plot within which marks lie over one another
LAST_COLOUR = 9  # of the style sheet's c0, c1 and so on
LOG_FROM = 3.0  # an axis whose values differ by more is logarithmic


@dataclass(frozen=True)
class Point:
    """One model: a place, and the row of the setting that x was measured at, empty for a size."""

    entry: Entry
    row: Row
    x: float
    x_text: str
    f1: float
    interval: Interval | None


@dataclass(frozen=True)
class Axis:
    """Values on a scale from 0 to 100 percent of the plot, with the values that are written beside it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def place(self, value: float) -> float:
        """Percent from the low end."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return 100 * (at - low) / (high - low)


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats in both, smallest x first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda p: (p.x, -p.f1)):
        if not front or point.f1 > front[-1].f1:
            front.append(point)
    return front


def log_or_zero_axis(values: Sequence[float]) -> Axis:
    """Logarithmic where values are far apart, else from zero."""
    low, high = min(values), max(values)
    if low > 0 and high > LOG_FROM * low:
        room = (high / low) ** 0.07
        low, high = low / room, high * room
        steps = (1, 2, 5) if high < 300 * low else (1,)
        ticks = [m * 10.0**e for e in range(-4, 16) for m in steps]
        return Axis(low, high, tuple(t for t in ticks if low <= t <= high), log=True)
    return linear_axis(0, high * 1.1 or 1)


def linear_axis(low: float, high: float) -> Axis:
    """Three to six round values."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    first = math.ceil(low / step - 1e-9)
    return Axis(low, high, tuple(step * k for k in range(first, math.floor(high / step + 1e-9) + 1)))


def short(value: float) -> str:
    """5, 0.2, 20k, 2M, 3G."""
    unit, letter = next(((u, c) for u, c in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= u), (1, ""))
    return f"{value / unit:.10g}{letter}"


def exactly(point: Point, what: str) -> list[tuple[str, str]]:
    """All that says which file was measured, on what and how."""
    facts, row = point.entry.facts, point.row
    setting = [
        plural(row["threads"], "thread") if "threads" in row else "",
        f"lengths {row['lengths']}" if "lengths" in row else "",
        f"batch {row['batch']}" if "batch" in row else "",
    ]
    interval = f" (95 %: {span(point.interval)})" if point.interval else ""
    asked = f", {plural(facts['n'], 'question')}" if "n" in facts else ""
    return [
        (name, value)
        for name, value in (
            ("model", facts["model"]),
            ("peer", tool_name(facts) if point.entry.is_peer else ""),
            (what, point.x_text),
            ("F1", f"{point.f1:.2f}{interval}{asked}"),
            ("precision", facts["precision"]),
            ("runtime", facts.get("runtime", "")),
            ("target", f"{facts['target']}: {facts['machine']}"),
            ("setting", ", ".join(s for s in setting if s)),
            ("bundle", facts["bundle_sha256"][:16]),
        )
        if value
    ]


def plot(title: str, axis_title: str, what: str, points: Sequence[Point], colours: Mapping[str, int]) -> str:
    """One figure: the plot, what its marks mean, and its front in words."""
    front = pareto_front(points)
    ends = [v for p in points for v in (p.f1, *((p.interval.low, p.interval.high) if p.interval else ()))]
    room = max(0.09 * (max(ends) - min(ends)), 0.3)
    x, y = log_or_zero_axis([p.x for p in points]), linear_axis(min(ends) - room, max(ends) + room)
    spots = [(x.place(p.x), y.place(p.f1)) for p in points]
    grid = [f'<path class="grid" d="M0 {100 - y.place(t):.2f}H100"/>' for t in y.ticks]
    grid += [f'<path class="grid" d="M{x.place(t):.2f} 0V100"/>' for t in x.ticks]
    words = [f'<span class="tick y" style="bottom:{y.place(t):.2f}%">{t:.10g}</span>' for t in y.ticks]
    words += [f'<span class="tick x" style="left:{x.place(t):.2f}%">{short(t)}</span>' for t in x.ticks]
    log = ", log scale" if x.log else ""
    marks = [_mark(p, number, spots, front, what, colours) for number, p in enumerate(points)]
    whiskers = [
        f'<path class="whisker {_class(p.entry, colours)}" d="M{left:.2f} {100 - y.place(p.interval.low):.2f}'
        f'V{100 - y.place(p.interval.high):.2f}"/>'
        for p, (left, _) in zip(points, spots, strict=True)
        if p.interval
    ]
    lines = f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">{"".join(grid)}{_stairs(front, x, y)}'
    return (
        f'<figure><figcaption>{text(title)}</figcaption>\n<div class="plot">{lines}{"".join(whiskers)}</svg>\n'
        f'{"".join(words)}\n{"".join(marks)}</div>\n<p class="axis">{text(axis_title)}{log}; upwards: F1, %</p>\n'
        f"{_legend(points, colours)}\n{_front_list(front)}</figure>\n"
    )


def _stairs(front: Sequence[Point], x: Axis, y: Axis) -> str:
    """The border of what is beaten: along each point's F1 to the x of the next, then up."""
    places = [(x.place(p.x), 100 - y.place(p.f1)) for p in front]
    steps = "".join(f"H{left:.2f}V{top:.2f}" for left, top in places[1:])
    left, top = places[0]
    return f'<path class="front" d="M{left:.2f} 100V{top:.2f}{steps}H100"/>'


def _mark(
    point: Point, number: int, spots: Sequence[tuple[float, float]], front: Sequence[Point], what: str, colours: Mapping[str, int]
) -> str:
    left, bottom = spots[number]
    n_above = sum(math.dist(spots[number], other) < NEAR for other in spots[number + 1 :])
    facts = exactly(point, what)
    shape = SHAPES.get(point.entry.facts["precision"], OTHER_SHAPE)
    rank = f"<b>{1 + front.index(point)}</b>" if point in front else ""
    place = f"left:{left:.2f}%;bottom:{bottom:.2f}%;--size:{MARK_PX + STEP_PX * n_above}px"
    label = "; ".join(f"{name} {value}" for name, value in facts)
    return (
        f'<span class="mark {_class(point.entry, colours)}" style="{place}" tabindex="0" role="img" aria-label="{text(label)}">'
        f'<svg viewBox="0 0 12 12" aria-hidden="true">{shape}</svg>{rank}</span>'
        f'<div class="tip" aria-hidden="true">{definitions(facts)}</div>\n'
    )


def _class(entry: Entry, colours: Mapping[str, int]) -> str:
    """The colour of a runtime; peers are hollow."""
    return f"c{colours[runtime_package(entry)]}{' peer' if entry.is_peer else ''}"


def _legend(points: Sequence[Point], colours: Mapping[str, int]) -> str:
    runtimes = dict.fromkeys(runtime_package(p.entry) for p in points)
    precisions = dict.fromkeys(p.entry.facts["precision"] for p in points)
    items = [f'<span class="c{colours[r]}"><i></i>{text(RUNTIME_NAMES.get(r, r))}</span>' for r in runtimes]
    items += [f'<span><svg viewBox="0 0 12 12">{SHAPES.get(p, OTHER_SHAPE)}</svg>{text(p)}</span>' for p in precisions]
    if any(p.entry.is_peer for p in points):
        items.append(f'<span><svg class="peer" viewBox="0 0 12 12">{SHAPES["fp32"]}</svg>hollow: a peer, of another tool</span>')
    if any(p.interval for p in points):
        items.append('<span><i class="bar"></i>95 % interval</span>')
    return f'<p class="legend">{"".join(items)}</p>'


def _front_list(front: Sequence[Point]) -> str:
    items = "".join(
        f"<li><strong>{text(p.entry.facts['model'])}</strong>{' (peer)' if p.entry.is_peer else ''}: "
        f"{text(p.x_text)}, F1 {p.f1:.2f}{f' ({span(p.interval)})' if p.interval else ''}</li>"
        for p in front
    )
    return f'<p class="soft">On the front: no other has less of this and a higher F1.</p><ol>{items}</ol>'


def runtime_colours(groups: Sequence[Group]) -> dict[str, int]:
    """A number for each runtime, which the style sheet gives a colour; those with a name keep theirs, the last is of others."""
    found = [*RUNTIME_NAMES, *(runtime_package(e) for g in groups for e in g.entries)]
    return {name: min(number, LAST_COLOUR) for number, name in enumerate(dict.fromkeys(found))}


def group_plots(group: Group, f1: Mapping[str, Interval], colours: Mapping[str, int]) -> list[str]:
    """F1 against bytes, latency and instructions, as far as this group knows them."""
    found = []
    sizes = _points(
        group, f1, lambda e: {key: e.facts[key] for key in ("size_bytes",) if key in e.facts}, "size_bytes", "{:.1f} MB", 1e-6
    )
    if sizes:
        found.append(plot("F1 against size", "size of the weights file, MB", "size", sizes, colours))
    for key, title, unit, form, scale in (
        ("latency_ms_mean", "F1 against latency", "mean ms", "{:.1f} ms", 1.0),
        ("instructions_per_window", "F1 against instructions", "million instructions", "{:,.1f} M instructions", 1e-6),
    ):
        setting = shown_setting(group, key)
        if setting is None:
            continue
        points = _points(group, f1, lambda e, s=setting, k=key: s.row_of(e, k), key, form, scale)  # type: ignore[misc]
        if points:
            found.append(plot(title, f"{unit} for one window, {_words(setting)}", key.split("_")[0], points, colours))
    return found


def _words(setting: Setting) -> str:
    lengths = {"real": "real lengths", None: ""}.get(setting.lengths, f"padded to {setting.lengths}")  # type: ignore[arg-type]
    batch = f"batch {setting.batch}" if setting.batch not in (None, 1) else ""
    threads = plural(setting.threads, "thread") if setting.threads is not None else ""
    return ", ".join(word for word in (lengths, threads, batch) if word)


def _points(
    group: Group, f1: Mapping[str, Interval], row_of: Callable[[Entry], Row | None], key: str, form: str, scale: float
) -> list[Point]:
    found = []
    for entry in group.entries:
        row = row_of(entry)
        if row and "f1" in entry.facts:
            interval = f1.get(entry.facts["model"])
            value = row[key] * scale
            found.append(Point(entry, row, value, form.format(value), entry.facts["f1"], interval))
    return found
