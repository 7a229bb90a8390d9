"""Plots of a comparison as inline SVG: text and axes take the page's own colour, so they read on light and dark."""

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import Bbox

from benchmarks.views.groups import REAL, Entry, Group
from benchmarks.views.names import RUNTIME_NAMES, runtime_package
from benchmarks.views.summary import row_interval

INK = "#010203"  # stands for the page's text colour until the SVG is finished
RUNTIME_COLOURS = {
    "torch": "#e8743b", "onnxruntime": "#4a86e8", "ai-edge-litert": "#22a06b", "openvino": "#9b6dd6", "torchao": "#b8860b",
    "optimum-onnx": "#c2417c",
}  # fmt: skip
OTHER_COLOUR = "#7a828e"
MARKERS = {"fp32": "o", "fp16": "s", "int8": "^", "int8-weights": "D", "int4": "v", "int8-static": "P"}
LOG_FROM = 3.0  # an axis whose values differ by more is logarithmic
LEGEND_COLUMNS = 4  # a line of more is wider than the plot, which then shrinks to make room for it
DECADES_FROM = 300.0  # a logarithmic axis whose values differ by more has room for powers of ten only

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "grid.linewidth": 0.5,
    "grid.alpha": 0.18,
    "grid.color": INK,
}


@dataclass(frozen=True)
class Point:
    """One model in a scatter plot."""

    name: str
    x: float
    y: float
    runtime: str
    precision: str
    interval: tuple[float, float] | None = None
    """Where y may lie, drawn as a line."""
    hollow: bool = False
    """Drawn as an outline, as what another tool made is."""


def points(group: Group, x: Callable[[Entry], float | None]) -> list[Point]:
    """The models of which both x and F1 are known."""
    found = []
    for entry in group.entries:
        value, f1 = x(entry), entry.facts.get("f1")
        if value is not None and f1 is not None:
            known = row_interval(entry.facts, "f1")
            ends = None if known is None else (known.low, known.high)
            facts = (runtime_package(entry), entry.facts["precision"])
            found.append(Point(entry.facts["model"], value, f1, *facts, ends, entry.is_peer))
    return found


def latency_scatter(group: Group) -> str | None:
    """F1 against mean latency at real lengths on one thread; None when that was not measured."""
    chosen = points(group, lambda e: e.at(REAL).get("latency_ms_mean"))
    return scatter(chosen, "mean ms for one window, real lengths, 1 thread", "latency") if chosen else None


def as_file(svg: str) -> str:
    """An inline plot as a file of its own, in a grey that reads on light and dark pages."""
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace("currentColor", "#7a828e")


def scatter(chosen: Sequence[Point], x_label: str, salt: str) -> str:
    """F1 against something of which less is better, each model with its name beside it, and its interval where it has one."""
    with mpl.rc_context(STYLE | {"svg.hashsalt": salt}):
        figure = Figure(figsize=(6.6, 4.9), layout="constrained")
        axes = figure.add_subplot()
        axes.set_xlabel(x_label)
        axes.set_ylabel("F1, %")
        _scale_x(axes, [p.x for p in chosen])
        heights = [y for p in chosen for y in (p.y, *(p.interval or ()))]
        lowest, highest = min(heights), max(heights)
        room = max(0.18 * (highest - lowest), 0.5)
        axes.set_ylim(lowest - room, highest + room)
        axes.grid(visible=True)
        _legends(axes, chosen)
        FigureCanvasAgg(figure).draw()  # fixes where everything stands
        _place_labels(figure, axes, chosen, *_draw_points(axes, chosen))
        return _svg(figure)


def _scale_x(axes: Any, values: Sequence[float]) -> None:
    lowest, highest = min(values), max(values)
    if highest > LOG_FROM * lowest:
        axes.set_xscale("log")
        low, high = lowest / 1.35, highest * 1.35
        ticks = [m * 10.0**e for e in range(-3, 10) for m in ((1, 2, 5) if highest < DECADES_FROM * lowest else (1,))]
        axes.xaxis.set_major_locator(FixedLocator([t for t in ticks if low <= t <= high]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick_text(value)))
        axes.set_xlim(low, high)
    else:
        axes.set_xlim(0, 1.12 * highest)


def _tick_text(value: float) -> str:
    """5, 1k, 2M."""
    unit, letter = next(((u, letter) for u, letter in ((1e6, "M"), (1e3, "k")) if value >= u), (1, ""))
    return f"{value / unit:g}{letter}"


def _legends(axes: Any, chosen: Sequence[Point]) -> None:
    """Runtimes (colours) above the plot, and between, in a line of their own, precisions (markers)."""

    def legend(samples: Sequence[tuple[str, str, str]], height: float) -> Any:
        style: dict[str, Any] = {"linestyle": "none", "markersize": 7, "markeredgecolor": "none"}
        handles = [Line2D([], [], color=colour, marker=marker, label=label, **style) for colour, marker, label in samples]
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, height), "borderaxespad": 0.2, "borderpad": 0.1}
        place["ncols"] = min(len(handles), LEGEND_COLUMNS)
        return axes.legend(handles=handles, frameon=False, fontsize=9, handletextpad=0.1, **place)

    runtimes = dict.fromkeys(p.runtime for p in chosen)
    used = {p.precision for p in chosen}
    precisions = [p for p in MARKERS if p in used] + sorted(used - MARKERS.keys())
    first = legend([(RUNTIME_COLOURS.get(r, OTHER_COLOUR), "o", RUNTIME_NAMES.get(r, r)) for r in runtimes], 1.07)
    legend([("#8a8f98", MARKERS.get(p, "X"), p) for p in precisions], 1.0)
    if any(p.hollow for p in chosen):
        axes.annotate("hollow: made by another tool", (1, 1), (-2, 4), "axes fraction", "offset points", fontsize=9, ha="right")
    axes.add_artist(first).set_clip_on(False)  # clipped to the plot, it would get no room above


def _draw_points(axes: Any, chosen: Sequence[Point]) -> tuple[list[Bbox], list[Bbox]]:
    """Draw the markers and their intervals and return the boxes of both; of markers at one spot the earlier are larger,
    so that all are seen.
    """
    centres = [axes.transData.transform((p.x, p.y)) for p in chosen]
    boxes, whiskers = [], []
    for number, (p, (x, y)) in enumerate(zip(chosen, centres, strict=True)):
        n_above = sum(math.dist((x, y), other) < 4 for other in centres[number + 1 :])
        size = 9 + 4.5 * n_above
        colour = RUNTIME_COLOURS.get(p.runtime, OTHER_COLOUR)
        edges = {"markerfacecolor": "none", "markeredgewidth": 1.6} if p.hollow else {"markeredgecolor": "none"}
        axes.plot(p.x, p.y, MARKERS.get(p.precision, "X"), color=colour, markersize=size, **edges)
        if p.interval is not None:
            axes.plot([p.x, p.x], p.interval, color=colour, linewidth=1, alpha=0.5, zorder=1)
            ends = [axes.transData.transform((p.x, end)) for end in p.interval]
            whiskers.append(Bbox(ends))
        half = 0.75 * size * axes.figure.dpi / 72
        boxes.append(Bbox.from_bounds(x - half, y - half, 2 * half, 2 * half))
    return boxes, whiskers


def _place_labels(figure: Figure, axes: Any, chosen: Sequence[Point], boxes: Sequence[Bbox], whiskers: Sequence[Bbox]) -> None:
    """Put each name at the nearest spot that is free of points, intervals and other names; a thin line leads to a far one."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    to_data = axes.transData.inverted().transform
    frame, taken = axes.get_window_extent(), [*boxes, *whiskers]
    for p, own in sorted(zip(chosen, boxes, strict=True), key=lambda pair: -pair[0].y):
        x, y, radius = own.x0 + own.width / 2, own.y0 + own.height / 2, own.width / 2
        measured = axes.text(0, 0, p.name, fontsize=8.5)
        extent = measured.get_window_extent(renderer)
        measured.remove()
        spots = []
        for gap in range(2, 150, 6):
            for degrees in range(0, 360, 15):
                across, up = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
                left = x + (radius + gap) * across + (across - 1) * extent.width / 2
                bottom = y + (radius + gap) * up + (up - 1) * extent.height / 2
                spots.append((gap, Bbox.from_bounds(left, bottom, extent.width, extent.height)))
        others = [box for box in boxes if not box.overlaps(own)]  # those at one spot hide one another anyway
        free = [
            (gap, box) for gap, box in spots
            if _inside(box, frame) and not any(box.overlaps(other) for other in taken) and _leads(box, (x, y), others)
        ]  # fmt: skip
        gap, box = (free or spots)[0]
        taken.append(box)
        axes.text(*to_data((box.x0, box.y0)), p.name, fontsize=8.5, va="bottom")
        if gap > 8:
            start, end = to_data((x, y)), to_data(_nearest(box, (x, y)))
            axes.plot([start[0], end[0]], [start[1], end[1]], color=INK, linewidth=0.5, alpha=0.5, zorder=1)


def _nearest(box: Bbox, spot: tuple[float, float]) -> tuple[float, float]:
    """The place in a box that is nearest to a spot."""
    x, y = spot
    return min(max(x, box.x0), box.x1), min(max(y, box.y0), box.y1)


def _leads(box: Bbox, spot: tuple[float, float], others: Sequence[Bbox]) -> bool:
    """Whether a straight line from a name to its point meets no other point's marker."""
    line = Path([spot, _nearest(box, spot)])
    return not any(line.intersects_bbox(other, filled=False) for other in others)


def _inside(box: Bbox, frame: Bbox) -> bool:
    return box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 and box.y1 <= frame.y1


def _svg(figure: Figure) -> str:
    """The figure as an <svg> element that scales with the page and loads nothing."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    whole = stream.getvalue().replace(INK, "currentColor").replace("xlink:href", "href")
    inside = re.sub(r"<metadata>.*?</metadata>", "", whole[whole.index(">", whole.index("<svg")) + 1 :], flags=re.DOTALL)
    width, height = (72 * inches for inches in figure.get_size_inches())
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" style="max-width:{1.25 * width:.0f}pt">{inside}'
