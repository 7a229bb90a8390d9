"""Plots as SVG: F1 against a cost (scatter), and panels of curves.

The drawings read on light and dark pages, and are the same byte for byte whenever they are drawn again.
"""

import html
import io
import itertools
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from benchmarks.show.columns import RUNTIME_NAMES
from benchmarks.show.point_names import box_around, name_points
from qa.evaluation.bootstrap import Interval
from qa.formats.precision import PRECISIONS

if TYPE_CHECKING:  # a table without a plot loads no matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

OTHER_MARKER = "X"
GREY = "#7a828e"  # text and axes
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
DASHED = (0, (5, 3))
DPI = 72  # a point of matplotlib is a unit of the SVG
MARK = 9  # size of a mark
STEP = 7  # growth of a mark for each mark drawn over it
LOG_FROM = 3.0  # ratio of the largest to the smallest value, from which an axis is logarithmic
DECADES_FROM = 300  # the same, from which only powers of ten are labelled
STYLE = {
    "axes.edgecolor": GREY,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": GREY,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "font.sans-serif": "DejaVu Sans",
    "grid.alpha": 0.2,
    "grid.color": GREY,
    "legend.borderaxespad": 0,
    "legend.borderpad": 0,
    "legend.columnspacing": 1.2,
    "legend.frameon": False,
    "legend.handletextpad": 0.4,
    "svg.fonttype": "none",
    "svg.hashsalt": "pocketqa",
    "text.color": GREY,
    "text.parse_math": False,  # a name may hold dollar signs
    "xtick.color": GREY,
    "ytick.color": GREY,
}
SCATTER_WIDTH = 520
SCATTER_HEIGHT = 420
PANEL_WIDTH = 390
PANEL_HEIGHT = 330
PANELS_IN_A_ROW = 3


@dataclass(frozen=True)
class Point:
    """One model of a scatter plot."""

    name: str
    x: float
    f1: float
    interval: Interval | None
    runtime: str
    precision: str
    hollow: bool = False
    """Drawn hollow: made by another toolchain."""
    on_front: bool = True
    """False where train-test overlap keeps it off the front."""
    details: str = ""
    """Description shown by a browser at the mark."""

    @property
    def marker(self) -> str:
        """The shape of the mark."""
        return PRECISIONS[self.precision].mark if self.precision in PRECISIONS else OTHER_MARKER


@dataclass(frozen=True)
class Scatter:
    """F1 in percent against a cost, of which less is better."""

    title: str
    x_title: str
    points: Sequence[Point]

    @property
    def front(self) -> list[Point]:
        """The points that no other beats in both cost and F1, smallest cost first."""
        front: list[Point] = []
        for point in sorted(self.points, key=lambda p: (p.x, -p.f1)):
            if point.on_front and (not front or point.f1 > front[-1].f1):
                front.append(point)
        return front


@dataclass(frozen=True)
class Panel:
    """One of several plots side by side: the curve through (x, y) of each series by its name."""

    title: str
    x_title: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    diagonal: bool = False
    """Percent against percent, with marks and a dashed diagonal."""


Bins = Sequence[tuple[float, float, int]]
"""Mean probability, share right (0 to 1) and number of results of each bin."""


def reliability_panel(title: str, calibrated: Bins, uncalibrated: Bins) -> Panel:
    """Return the plot of how often results of each probability were right, before and after calibration."""
    series = {"calibrated": calibrated, "softmax scores": uncalibrated}
    points = {name: [(100 * mean, 100 * right) for mean, right, _ in bins] for name, bins in series.items()}
    return Panel(title, "probability, %", points, diagonal=True)


def short(value: float, _: object = None) -> str:
    """Return a figure for an axis: 5, 0.2, 20k, 2M, 3G."""
    units = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
    unit, letter = next((u for u in units if value >= u[0]), (1, ""))
    return f"{value / unit:.10g}{letter}"


def colours_of(runtimes: Sequence[str]) -> dict[str, str]:
    """Return a colour for each runtime; unknown ones take in turn those that no other has here."""
    colours = {name: c for name, c in zip(RUNTIME_NAMES, COLOURS, strict=False) if name in runtimes}
    free = itertools.cycle([c for c in COLOURS if c not in colours.values()])
    return {name: colours[name] if name in colours else next(free) for name in runtimes}


@contextmanager
def _style() -> Iterator[None]:
    """Draw in STYLE, whatever style the user has set."""
    import matplotlib.style

    with matplotlib.style.context(STYLE, after_reset=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matplotlib's font lacks characters that a browser's has
        yield


@_style()
def scatter_svg(scatter: Scatter) -> str:
    """Draw a scatter plot whose points are named where they stand, the front first, while there is room."""
    points = scatter.points
    colours = colours_of(list(dict.fromkeys(p.runtime for p in points)))
    figure = _figure(SCATTER_WIDTH, SCATTER_HEIGHT)
    axes = _axes(figure, (46, 44, SCATTER_WIDTH - 56, SCATTER_HEIGHT - 114), scatter.x_title, "F1, %")
    _scale(axes, "x", [p.x for p in points], log=True)
    ends = [v for p in points for v in ((p.interval.low, p.interval.high) if p.interval else (p.f1,))]
    room = max(0.09 * (max(ends) - min(ends)), 0.3)
    axes.set_ylim(min(ends) - room, max(ends) + room)
    left = axes.get_xlim()[1]
    front = scatter.front
    corners = [(p.x, p.f1) for p in front]
    meanings = []
    if corners:
        axes.step(
            [corners[0][0], *(x for x, _ in corners), left],
            [axes.get_ylim()[0], *(f1 for _, f1 in corners), corners[-1][1]],
            where="post",
            color=GREY,
            linewidth=1,
            linestyle=DASHED,
        )
        meanings = [_handle("", GREY, "front: no model is better in both", linestyle=DASHED, linewidth=1)]
    places = axes.transData.transform([(p.x, p.f1) for p in points])
    sizes = [
        MARK + STEP * sum(math.dist(place, over) < MARK / 3 for over in places[number:])
        for number, place in enumerate(places, 1)
    ]
    marks = [box_around(place, size) for place, size in zip(places, sizes, strict=True)]
    for number in sorted(range(len(points)), key=lambda number: points[number] not in front):
        point = points[number]
        colour = colours[point.runtime]
        if point.interval:
            axes.plot([point.x] * 2, [point.interval.low, point.interval.high], color=colour, alpha=0.35)
        size = sizes[number]
        (mark,) = axes.plot(point.x, point.f1, point.marker, color=colour, markersize=size, alpha=0.85)
        mark.set_gid(f"point-{number}")
        if point.hollow:
            mark.set_markerfacecolor("none")
    named = [(point.name, point in front) for point in points]
    name_points(figure, named, marks, axes.bbox, GREY)
    shapes = {p.precision: p.marker for p in points}
    if any(point.hollow for point in points):
        meanings.append(_handle("o", GREY, "hollow: made by another toolchain", markerfacecolor="none"))
    runtimes = [_handle("o", colour, RUNTIME_NAMES.get(name, name)) for name, colour in colours.items()]
    _legend(figure, 2, runtimes)
    _legend(figure, 20, [_handle(shape, GREY, precision) for precision, shape in shapes.items()])
    _legend(figure, 38, meanings)
    return _svg(figure, [point.details for point in points])


@_style()
def panels_svg(panels: Sequence[Panel]) -> str:
    """Draw plots in rows under one legend; a series has one colour in all of them."""
    names = dict.fromkeys(name for panel in panels for name in panel.series)
    colours = dict(zip(names, itertools.cycle(COLOURS), strict=False))
    n_rows = math.ceil(len(panels) / PANELS_IN_A_ROW)
    figure = _figure(PANEL_WIDTH * min(len(panels), PANELS_IN_A_ROW), PANEL_HEIGHT * n_rows)
    for number, panel in enumerate(panels):
        row, column = divmod(number, PANELS_IN_A_ROW)
        values = [point for points in panel.series.values() for point in points]
        corner = (52 + PANEL_WIDTH * column, 56 + PANEL_HEIGHT * (n_rows - 1 - row))
        axes = _axes(figure, (*corner, 320, 230), panel.x_title)
        axes.set_title(panel.title, loc="left", fontsize="medium")
        if panel.diagonal:
            axes.set(xlim=(0, 100), ylim=(0, 100), ylabel="right, %")
            axes.plot([0, 100], [0, 100], color=GREY, linewidth=1, linestyle=DASHED)
        else:
            _scale(axes, "x", [x for x, _ in values], log=False)
            _scale(axes, "y", [y for _, y in values], log=False)
        for name, points in panel.series.items():
            marker = "o" if panel.diagonal else ""
            axes.plot(*zip(*points, strict=True), color=colours[name], marker=marker)
    _legend(figure, 4, [_handle("o", colour, name) for name, colour in colours.items()])
    return _svg(figure)


def _figure(width: float, height: float) -> "Figure":
    """Return a transparent figure, in which a pixel is a unit of the SVG."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width / DPI, height / DPI), dpi=DPI)


def _axes(
    figure: "Figure", box: tuple[float, float, float, float], x_title: str, y_title: str = ""
) -> "Axes":
    """Add axes at left, bottom, width and height in pixels."""
    width, height = figure.get_size_inches() * DPI
    axes = figure.add_axes((box[0] / width, box[1] / height, box[2] / width, box[3] / height))
    axes.set(xlabel=x_title, ylabel=y_title)
    axes.xaxis.set_major_formatter(short)
    axes.yaxis.set_major_formatter(short)
    return axes


def _scale(axes: "Axes", name: Literal["x", "y"], values: Sequence[float], *, log: bool) -> None:
    """Scale an axis from zero, or logarithmically where values are far apart."""
    from matplotlib.ticker import LogLocator, NullLocator

    low = min(values)
    high = max(values)
    if not (log and low > 0 and high > LOG_FROM * low):
        axes.set(**{f"{name}lim": (0, 1.1 * high or 1)})
        return
    room = (high / low) ** 0.07
    axis = axes.xaxis if name == "x" else axes.yaxis
    axes.set(**{f"{name}scale": "log", f"{name}lim": (low / room, high * room)})
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < DECADES_FROM * low else (1,), numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(short)
    axis.set_label_text(f"{axis.get_label_text()}, log scale")


def _handle(marker: str, colour: str, label: str, **style: Any) -> "Line2D":
    """Return an entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], marker=marker, color=colour, label=label, **({"linestyle": ""} | style))


def _legend(figure: "Figure", top: float, handles: Sequence["Line2D"]) -> None:
    """Add a row of entries, `top` pixels below the upper edge."""
    width, height = figure.get_size_inches() * DPI
    figure.legend(
        handles=handles,
        ncols=len(handles),
        loc="upper left",
        bbox_to_anchor=(46 / width, 1 - top / height),
    )


def _svg(figure: "Figure", details: Sequence[str] = ()) -> str:
    """Return the drawing, with `details` as the accessible text of its points."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = file.getvalue()
    svg = re.sub(r'(<svg .*?) width="[^"]*"(.*?) height="[^"]*"', r"\1\2", svg[svg.index("<svg") :], count=1)
    for number, text in enumerate(details):
        label = html.escape(text)
        svg = svg.replace(
            f'<g id="point-{number}">',
            f'<g class="mark" tabindex="0" role="img" aria-label="{label}"><title>{label}</title>',
        )
    # Nothing is drawn outside its axes, and a page needs neither references nor styles that hold everywhere.
    return re.sub(r' clip-path="[^"]*"| *<defs>\s*<(style|clipPath).*?</defs>\n', "", svg, flags=re.DOTALL)
