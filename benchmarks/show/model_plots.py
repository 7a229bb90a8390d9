"""Scatter plots of a group's models: F1 against size, latency and instructions."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.results.rows import UNPADDED, Accuracy, TargetAccuracy
from benchmarks.show.columns import package_of, tool_of, words_of
from benchmarks.show.groups import Entry, Group, Setting
from benchmarks.show.plots import Point, Scatter, scatter_svg
from benchmarks.show.tables import plural, span
from qa.base.errors import OptionError
from qa.base.files import write_whole


def group_plots(group: Group) -> dict[str, Scatter]:
    """Return the plots of which the group has values, by size, latency and instructions."""
    setting = _shown_setting(group)
    where = f"{words_of(setting[0])}, {plural(setting[1], 'thread')}" if setting else ""

    def size(entry: Entry) -> float | None:
        return entry.newest.size_bytes and entry.newest.size_bytes / 1e6

    def latency(entry: Entry) -> float | None:
        row = entry.at(*setting) if setting else None
        return row.latency_ms_mean if row else None

    def instructions(entry: Entry) -> float | None:
        scores = entry.accuracy
        counted = scores.instructions_per_window if isinstance(scores, TargetAccuracy) else None
        return counted and counted / 1e6

    costs: dict[str, tuple[str, str, Callable[[Entry], float | None]]] = {
        "size": ("size of the weights file, MB", "{:.1f} MB", size),
        "latency": (f"mean ms for one window, {where}", f"{{:.1f}} ms, {where}", latency),
        "instructions": (
            "million instructions for one window, unpadded, 1 thread",
            "{:,.1f} M instructions",
            instructions,
        ),
    }
    plots = {}
    for name, (title, form, cost) in costs.items():
        points = [
            _point(e, e.accuracy, x, f"{name} {form.format(x)}")
            for e in group.entries
            if e.accuracy and (x := cost(e))
        ]
        if points:
            plots[name] = Scatter(f"F1 against {name}", title, points)
    return plots


def write_latency_plot(group: Group, path: Path) -> None:
    """Draw F1 against latency. OptionError when latency was not measured."""
    plot = group_plots(group).get("latency")
    if plot is None:
        raise OptionError(
            f"--plot {path}: the results have no latency; run benchmarks/compare.py without --skip-latency"
        )
    write_whole(path, scatter_svg(plot))


def _shown_setting(group: Group) -> Setting | None:
    """Return the setting of single windows: unpadded and the fewest threads first."""
    settings = {key for e in group.entries for key in e.latency if key[2] == 1}
    return min(settings, key=lambda key: (key[0] != UNPADDED, key[1], str(key[0])), default=None)


def _point(entry: Entry, accuracy: Accuracy, x: float, cost: str) -> Point:
    newest = entry.newest
    interval = accuracy.f1_interval
    ends = f" (95 %: {span(interval)})" if interval else ""
    details = [
        newest.model,
        f"toolchain {tool_of(entry)}" if entry.is_toolchain else "",
        cost,
        f"F1 {accuracy.f1:.2f}{ends}, {plural(accuracy.n, 'question')}",
        f"precision {newest.precision}",
        f"embeddings {newest.embeddings}" if newest.embeddings else "",
        f"runtime {newest.runtime}" if newest.runtime else "",
        f"target {newest.target}: {newest.machine}",
        f"bundle {newest.bundle_sha256[:16]}",
    ]
    return Point(
        newest.model,
        x,
        accuracy.f1,
        interval,
        package_of(entry),
        newest.precision,
        hollow=entry.is_toolchain,
        details="; ".join(filter(None, details)),
    )
