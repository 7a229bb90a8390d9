"""Scatter plots of F1 against something of which less is better: where points, axes and front stand, and the
plot as SVG.

The page places the same points as HTML, so that marks and words have one size on a phone and on a wide
screen.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.results.rows import UNPADDED, Latency, TargetAccuracy
from benchmarks.show.columns import RUNTIME_NAMES, package_of, tool_of, words_of
from benchmarks.show.groups import Entry, Group, Setting
from benchmarks.show.tables import plural, span
from qa.base.errors import OptionError
from qa.base.files import write_whole
from qa.evaluation.bootstrap import Interval
from qa.formats.precision import PRECISIONS

OTHER_SHAPE = "M1 3 3 1l3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3z"
COLOURS = (
    "#d2591f",
    "#2f6fdb",
    "#14875a",
    "#8a55cc",
    "#b8860b",
    "#c2417c",
    "#0e8a9a",
    "#4d7c0f",
    "#a05a2c",
    "#6b7280",
)
MARK_PX = 13  # of a mark that is alone at its place
STEP_PX = 9  # how much larger a mark is than the one drawn over it
NEAR = 0.8  # percent of the plot within which marks lie over one another
LOG_FROM = 3.0  # an axis whose values differ by more is logarithmic
DECADES_FROM = 300  # and from here on has room for powers of ten only

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals |= {"plural": plural, "span": span}


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
        return round(100 * (at - low) / (high - low), 2)


def log_or_zero_axis(values: Sequence[float]) -> Axis:
    """Logarithmic where values are far apart, else from zero."""
    low = min(values)
    high = max(values)
    if low > 0 and high > LOG_FROM * low:
        room = (high / low) ** 0.07
        low = low / room
        high = high * room
        steps = (1, 2, 5) if high < DECADES_FROM * low else (1,)
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


@dataclass(frozen=True)
class Point:
    """One model: its place, how it is drawn, and all that says what it is."""

    name: str
    x: float
    x_text: str
    f1: float
    interval: Interval | None
    runtime: str
    precision: str
    hollow: bool = False
    """Made by another tool."""
    details: tuple[tuple[str, str], ...] = ()

    @property
    def shape(self) -> str:
        """Path in a box of 12 by 12."""
        return PRECISIONS[self.precision].mark if self.precision in PRECISIONS else OTHER_SHAPE


def colours_of(runtimes: Sequence[str]) -> dict[str, int]:
    """Number of each runtime's colour; what has none of its own takes in turn those that no other has
    here.
    """
    own = {name: number for number, name in enumerate(RUNTIME_NAMES) if name in runtimes}
    free = itertools.cycle(sorted(set(range(len(COLOURS))) - set(own.values())))
    return {name: own[name] if name in own else next(free) for name in runtimes}


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats in both, smallest x first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda p: (p.x, -p.f1)):
        if not front or point.f1 > front[-1].f1:
            front.append(point)
    return front


@dataclass(frozen=True)
class Plot:
    """A scatter plot, everything in percent of its area."""

    title: str
    axis_title: str
    points: Sequence[Point]
    runtimes: dict[str, tuple[int, str]] = field(init=False)
    """Colour and name of each runtime that is shown."""

    def __post_init__(self) -> None:
        colours = colours_of(list(dict.fromkeys(p.runtime for p in self.points)))
        object.__setattr__(
            self, "runtimes", {name: (n, RUNTIME_NAMES.get(name, name)) for name, n in colours.items()}
        )

    @cached_property
    def x(self) -> Axis:
        """Of what less is better."""
        return log_or_zero_axis([p.x for p in self.points])

    @cached_property
    def y(self) -> Axis:
        """Of F1 in percent."""
        ends = [
            v for p in self.points for v in (p.f1, *((p.interval.low, p.interval.high) if p.interval else ()))
        ]
        room = max(0.09 * (max(ends) - min(ends)), 0.3)
        return linear_axis(min(ends) - room, max(ends) + room)

    @cached_property
    def spots(self) -> list[tuple[float, float]]:
        """Of every point, from the left and from below."""
        return [(self.x.place(p.x), self.y.place(p.f1)) for p in self.points]

    @cached_property
    def sizes(self) -> list[int]:
        """Pixels of every mark; of marks at one spot the earlier are larger, so that all are seen."""
        above = [
            sum(math.dist(spot, other) < NEAR for other in self.spots[n + 1 :])
            for n, spot in enumerate(self.spots)
        ]
        return [MARK_PX + STEP_PX * n for n in above]

    @cached_property
    def front(self) -> list[Point]:
        """What nothing beats in both."""
        return pareto_front(self.points)

    @property
    def stairs(self) -> str:
        """The border of what is beaten, as a path: along each point's F1 to the x of the next, then up."""
        (left, top), *others = ((self.x.place(p.x), round(100 - self.y.place(p.f1), 2)) for p in self.front)
        return f"M{left:g} 100V{top:g}{''.join(f'H{x:g}V{y:g}' for x, y in others)}H100"

    @property
    def x_ticks(self) -> list[tuple[float, str]]:
        """Places and texts."""
        return [(self.x.place(t), short(t)) for t in self.x.ticks]

    @property
    def y_ticks(self) -> list[tuple[float, str]]:
        """Places and texts."""
        return [(self.y.place(t), f"{t:.10g}") for t in self.y.ticks]

    @property
    def precisions(self) -> dict[str, str]:
        """Shape of each precision that is shown."""
        return {p.precision: p.shape for p in self.points}


def as_svg(plot: Plot) -> str:
    """The plot as a file of its own, points numbered and named beside it, in a grey that reads on light and
    dark pages."""
    return TEMPLATES.get_template("plot.svg.j2").render(plot=plot, numbers=_numbers(plot), colours=COLOURS)


def _numbers(plot: Plot) -> list[tuple[float, float]]:
    """Where each point's number stands, in pixels of the template's plot: the first free spot around its
    mark."""
    width = 440.0
    height = 330.0
    half = 5.5
    marks = [(4.4 * left, height - 3.3 * bottom) for left, bottom in plot.spots]
    taken: list[tuple[float, float]] = []
    for number, (x, y) in enumerate(marks):
        radius = plot.sizes[number] / 2 + 6
        angles = [math.radians(a) for a in (315, 225, 45, 135, 0, 180, 270, 90)]
        spots = [
            (x + (radius + far) * math.cos(a), y + (radius + far) * math.sin(a))
            for far in range(0, 60, 6)
            for a in angles
        ]
        free = [
            (left, top)
            for left, top in spots
            if 0 < left < width
            and 0 < top < height
            and all(abs(left - a) > 2 * half or abs(top - b) > 2 * half for a, b in taken)
            and all(math.dist((left, top), mark) > half + MARK_PX / 2 for mark in marks)
        ]
        taken.append((free or spots)[0])
    return [(round(x, 1), round(y, 1)) for x, y in taken]


def write_latency_plot(group: Group, path: Path) -> None:
    """Draw F1 against latency. OptionError when that was not measured."""
    found = [plot for key, plot in group_plots(group) if key == "latency"]
    if not found:
        raise OptionError(
            f"--plot {path}: the rows hold no latency; run benchmarks/compare.py without --skip-latency"
        )
    write_whole(path, as_svg(found[0]))


def group_plots(group: Group) -> list[tuple[str, Plot]]:
    """F1 against bytes, latency and instructions, as far as this group knows them."""
    found = []
    timed = _shown_setting(group)

    def add(
        key: str, title: str, axis: str, values: Callable[[Entry], tuple[float, str, Latency | None] | None]
    ) -> None:
        points = [point for e in group.entries if (point := _point(e, key, values(e)))]
        if points:
            found.append((key, Plot(title, axis, points)))

    def size(entry: Entry) -> tuple[float, str, None] | None:
        n = entry.newest.size_bytes
        return (n / 1e6, f"{n / 1e6:.1f} MB", None) if n else None

    def latency(entry: Entry) -> tuple[float, str, Latency | None] | None:
        row = entry.latency.get(timed) if timed else None
        return (
            (row.latency_ms_mean, f"{row.latency_ms_mean:.1f} ms", row)
            if row and row.latency_ms_mean
            else None
        )

    def instructions(entry: Entry) -> tuple[float, str, None] | None:
        n = entry.accuracy.instructions_per_window if isinstance(entry.accuracy, TargetAccuracy) else None
        return (n / 1e6, f"{n / 1e6:,.1f} M instructions", None) if n else None

    add("size", "F1 against size", "size of the weights file, MB", size)
    where = f"{words_of(timed[0])}, {plural(timed[1], 'thread')}" if timed else ""
    add("latency", "F1 against latency", f"mean ms for one window, {where}", latency)
    add(
        "instructions",
        "F1 against instructions",
        "million instructions for one window, unpadded, 1 thread",
        instructions,
    )
    return found


def _shown_setting(group: Group) -> Setting | None:
    """Single windows, unpadded, on as few threads as there are."""
    found = {key for e in group.entries for key in e.latency if key[2] == 1}
    return min(found, key=lambda key: (key[0] != UNPADDED, key[1], str(key[0])), default=None)


def _point(entry: Entry, what: str, value: tuple[float, str, Latency | None] | None) -> Point | None:
    accuracy = entry.accuracy
    newest = entry.newest
    if value is None or accuracy is None:
        return None
    x, text, row = value
    interval = accuracy.f1_interval
    ends = f" (95 %: {span(interval)})" if interval else ""
    setting = f"{plural(row.threads, 'thread')}, {words_of(row.lengths)}, batch {row.batch}" if row else ""
    details = [
        ("model", newest.model),
        ("peer", tool_of(entry) if entry.is_peer else ""),
        (what, text),
        ("F1", f"{accuracy.f1:.2f}{ends}, {plural(accuracy.n, 'question')}"),
        ("precision", newest.precision),
        ("embeddings", newest.embeddings or ""),
        ("runtime", str(newest.runtime or "")),
        ("target", f"{newest.target}: {newest.machine}"),
        ("setting", setting),
        ("bundle", newest.bundle_sha256[:16]),
    ]
    told = tuple((name, value) for name, value in details if value)
    return Point(
        newest.model, x, text, accuracy.f1, interval, package_of(entry), newest.precision, entry.is_peer, told
    )
