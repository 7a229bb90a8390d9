"""Names of a plot's points, each beside its mark while there is room."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHARACTER = 6.3  # width of a character of a name
LINE = 12  # height of a name
FARTHEST = 110  # pixels between a mark and its name
# Where a name may stand beside a mark: right and up are 1
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


@dataclass(frozen=True)
class Box:
    """A rectangle of a drawing in pixels, by its centre and size."""

    x: float
    y: float
    width: float
    height: float

    @classmethod
    def of_corners(cls, left: float, bottom: float, right: float, top: float) -> "Box":
        """Return the rectangle between two corners."""
        return cls((left + right) / 2, (bottom + top) / 2, right - left, top - bottom)

    def overlaps(self, other: "Box") -> bool:
        """Return whether the two share any area."""
        near_x = abs(self.x - other.x) < (self.width + other.width) / 2
        return near_x and abs(self.y - other.y) < (self.height + other.height) / 2

    def holds(self, other: "Box") -> bool:
        """Return whether the other lies inside."""
        inside_x = abs(self.x - other.x) <= (self.width - other.width) / 2
        return inside_x and abs(self.y - other.y) <= (self.height - other.height) / 2

    def beside(self, name: str) -> Iterator["Box"]:
        """Yield places for a name, the nearest first."""
        width = CHARACTER * len(name)
        for gap in range(2, FARTHEST, 4):
            for right, up in SIDES:
                x = self.x + right * ((self.width + width) / 2 + gap)
                yield Box(x, self.y + up * ((self.height + LINE) / 2 + gap), width, LINE)


def name_points(
    figure: "Figure", points: Sequence[tuple[str, bool]], marks: Sequence[Box], axes: Box, colour: str
) -> None:
    """Write each point's name at the nearest free place, with a line of that colour to a far one.

    Points are names, and True for those of the front, which are named first.
    """
    from matplotlib.lines import Line2D

    taken = list(marks)
    for number in sorted(range(len(points)), key=lambda number: not points[number][1]):
        name, in_front = points[number]
        mark = marks[number]
        free = (b for b in mark.beside(name) if axes.holds(b) and not any(map(b.overlaps, taken)))
        box = next(free, None)
        if box is None:
            continue
        taken.append(box)
        weight = "bold" if in_front else "normal"
        figure.text(box.x, box.y, name, weight=weight, ha="center", va="center_baseline", transform=None)
        end = (_nearest(mark.x, box.x, box.width), _nearest(mark.y, box.y, box.height))
        if math.dist(end, (mark.x, mark.y)) > mark.width / 2 + LINE:
            line = Line2D([mark.x, end[0]], [mark.y, end[1]], color=colour, linewidth=0.6, transform=None)
            figure.add_artist(line)


def _nearest(place: float, centre: float, size: float) -> float:
    """Return the coordinate nearest to a place on a side of that centre and size."""
    return min(max(place, centre - size / 2), centre + size / 2)
