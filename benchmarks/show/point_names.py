"""Names of a plot's points, each beside its mark while there is room."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import BboxBase

CHARACTER = 6.3  # width of a character of a name
LINE = 12  # height of a name
FARTHEST = 110  # pixels between a mark and its name
# Where a name may stand beside a mark: right and up are 1
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


def box_around(centre: np.ndarray, size: np.ndarray | int) -> "BboxBase":
    """Return the rectangle of a centre and a size, (x, y) in pixels; one number is the size of a square."""
    from matplotlib.transforms import Bbox

    return Bbox([centre - size / 2, centre + size / 2])


def centre_of(box: "BboxBase") -> np.ndarray:
    """Return the centre of a rectangle."""
    return np.add(box.min, box.max) / 2


def _beside(mark: "BboxBase", name: str) -> Iterator["BboxBase"]:
    """Yield places for a name, the nearest first."""
    size = np.array([CHARACTER * len(name), LINE])
    for gap in range(2, FARTHEST, 4):
        for side in SIDES:
            yield box_around(centre_of(mark) + side * ((mark.size + size) / 2 + gap), size)


def name_points(
    figure: "Figure",
    points: Sequence[tuple[str, bool]],
    marks: Sequence["BboxBase"],
    axes: "BboxBase",
    colour: str,
) -> None:
    """Write each point's name at the nearest free place, with a line of that colour to a far one.

    Points are names, and True for those of the front, which are named first.
    """
    from matplotlib.lines import Line2D

    taken = list(marks)
    for number in sorted(range(len(points)), key=lambda number: not points[number][1]):
        name, in_front = points[number]
        mark = marks[number]
        inside = (b for b in _beside(mark, name) if axes.contains(*b.min) and axes.contains(*b.max))
        box = next((b for b in inside if not b.count_overlaps(taken)), None)
        if box is None:
            continue
        taken.append(box)
        weight = "bold" if in_front else "normal"
        x, y = centre_of(box)
        figure.text(x, y, name, weight=weight, ha="center", va="center_baseline", transform=None)
        start = centre_of(mark)
        end = np.clip(start, box.min, box.max)
        if np.hypot(*(end - start)) > mark.width / 2 + LINE:
            ends = zip(start, end, strict=True)
            figure.add_artist(Line2D(*ends, color=colour, linewidth=0.6, transform=None))
