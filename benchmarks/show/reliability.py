"""Reliability plots: how often results of each probability were right, before and after calibration."""

from collections.abc import Sequence

from benchmarks.show.plots import Panel

Bins = Sequence[tuple[float, float, int]]
CALIBRATED = "calibrated"
UNCALIBRATED = "softmax scores"


def reliability_panel(title: str, calibrated: Bins, uncalibrated: Bins) -> Panel:
    """Return the plot of bins (mean probability, share right, number of results); its axes are in percent."""
    series = {CALIBRATED: calibrated, UNCALIBRATED: uncalibrated}
    points = {name: [(100 * mean, 100 * right) for mean, right, _ in bins] for name, bins in series.items()}
    return Panel(title, "probability, %", points, diagonal=True)
