"""Scatter plots of a group's models: F1 against size, latency and instructions."""

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.results.rows import UNPADDED, Accuracy
from benchmarks.show.columns import caution_marks, package_of, tool_of, words_of
from benchmarks.show.footnotes import caution_footnotes
from benchmarks.show.groups import Entry, Group
from benchmarks.show.plots import Point, Scatter, panels_svg, reliability_panel, scatter_svg
from benchmarks.show.tables import at_path, in_brackets, plural
from qa.base.errors import OptionError
from qa.base.files import write_whole
from qa.evaluation.bootstrap import Interval


def group_plots(group: Group) -> dict[str, Scatter]:
    """Return the plots of which the group has values, by size, latency and instructions."""
    # Unpadded and the fewest threads first
    settings = {key for e in group.entries for key in e.latency if key[2] == 1}
    setting = min(settings, key=lambda key: (key[0] != UNPADDED, key[1], str(key[0])), default=None)
    where = f"{words_of(setting[0])}, {plural(setting[1], 'thread')}" if setting else ""

    def latency(entry: Entry) -> float | None:
        return at_path(entry.at(*setting), "latency_ms_mean") if setting else None

    costs: dict[str, tuple[str, str, Callable[[Entry], float | None], float]] = {
        "size": ("size of the weights file, MB", "{:.1f} MB", lambda e: e.newest.size_bytes, 1e6),
        "latency": (f"mean ms for one window, {where}", f"{{:.1f}} ms, {where}", latency, 1),
        "instructions": (
            "million instructions for one window, unpadded, 1 thread",
            "{:,.1f} M instructions",
            lambda e: at_path(e, "accuracy.instructions_per_window"),
            1e6,
        ),
    }
    plots = {}
    for name, (title, form, cost, unit) in costs.items():
        points = [
            _point(e, e.accuracy, x / unit, f"{name} {form.format(x / unit)}")
            for e in group.entries
            if e.accuracy and (x := cost(e))
        ]
        if points:
            plots[name] = Scatter(f"F1 against {name}", title, points)
    return plots


def write_latency_plot(groups: Sequence[Group], path: Path) -> None:
    """Draw F1 against latency of the first group that has both. OptionError without one."""
    plot = next((plots["latency"] for plots in map(group_plots, groups) if "latency" in plots), None)
    if plot is None:
        raise OptionError(
            f"--plot {path}: the results have no latency; run benchmarks/compare.py without --skip-latency"
        )
    write_whole(path, scatter_svg(plot))


def write_reliability(groups: Sequence[Group], path: Path) -> None:
    """Draw the reliability of each calibrated model on each data file, by its newest scores.

    A plot is named by its model, its data file, or both: by what differs among the plots. OptionError without
    any.
    """
    newest: dict[tuple[str, str], Accuracy] = {}
    for group in groups:
        for scores in group.scores:
            place = scores.model, group.data or ""
            if scores.reliability:
                newest[place] = max(newest.get(place, scores), scores, key=lambda one: one.date)
    if not newest:
        raise OptionError(f"--reliability {path}: no scores of a calibrated model; score one with compare.py")
    n_models, n_files = (len(set(names)) for names in zip(*newest, strict=True))
    panels = []
    for (model, data), scores in newest.items():
        title = data if n_models == 1 < n_files else model if n_files == 1 else f"{model}, {data}"
        panels.append(reliability_panel(title, scores.reliability, scores.uncalibrated_reliability))
    write_whole(path, panels_svg(panels))


def _point(entry: Entry, accuracy: Accuracy, x: float, cost: str) -> Point:
    newest = entry.newest
    f1 = accuracy.f1_with_interval
    details = [
        newest.model,
        f"toolchain {tool_of(entry)}" if entry.is_toolchain else "",
        cost,
        f"F1 {accuracy.f1:.2f}{in_brackets(f1)}, {plural(accuracy.n, 'question')}",
        *caution_footnotes([accuracy]),
        f"precision {newest.precision}",
        f"embeddings {newest.embeddings}" if newest.embeddings else "",
        f"runtime {newest.runtime}" if newest.runtime else "",
        f"target {newest.target}: {newest.machine}",
        f"bundle {newest.bundle_sha256[:16]}",
    ]
    return Point(
        newest.model + caution_marks(accuracy),
        x,
        accuracy.f1,
        f1 if isinstance(f1, Interval) else None,
        package_of(entry),
        newest.precision,
        hollow=entry.is_toolchain,
        on_front=entry.may_be_recommended,
        details="; ".join(filter(None, details)),
    )
