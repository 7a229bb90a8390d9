"""Plots beside one another under one legend, of points or of curves, as SVG."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.show.plots import COLOURS, TEMPLATES, Axis, short


@dataclass(frozen=True)
class Panel:
    """One of the plots: (x, y) of every series by its name."""

    title: str
    x_title: str
    x: Axis
    y: Axis
    series: Mapping[str, Sequence[tuple[float, float]]]
    joined: bool = False
    """A curve through the points instead of the points."""


def panels_svg(panels: Sequence[Panel]) -> str:
    """The plots in one row; a series has one colour in all of them."""
    names = dict.fromkeys(name for panel in panels for name in panel.series)
    colours = dict(zip(names, itertools.cycle(COLOURS), strict=False))
    return TEMPLATES.get_template("panels.svg.j2").render(panels=panels, colours=colours, short=short)
