"""Curves of runs: out of what a run keeps for TensorBoard, each step once, and drawn where they belong."""

import re

import pytest
from torch.utils.tensorboard import SummaryWriter

from benchmarks.curves import CurvesOptions, averaged, curves, print_curves
from benchmarks.show.plots import COLOURS
from qa.base.errors import OptionError

COLOURED = re.compile(f"fill: none; stroke: ({'|'.join(COLOURS)})")


def curve_paths(svg):
    """The paths drawn in a colour of the series, without a fill."""
    return [path for path in re.findall(r"<path d=.*?/>", svg, re.DOTALL) if COLOURED.search(path)]


def written(run, values, *, first=0):
    """What a run leaves that does steps from `first` on, with these losses."""
    folder = run / "training" / "student"
    before = set(folder.glob("*"))
    writer = SummaryWriter(str(folder), purge_step=first)
    for step, value in enumerate(values, start=first):
        writer.add_scalar("student/hard", value, step)
        writer.add_scalar("student/soft", 2 * value, step)
        writer.add_scalar("student/loss", 1.9 * value, step)
    writer.close()
    # A run is resumed in a later second; of one second, names do not tell the order.
    (new,) = set(folder.glob("*")) - before
    new.rename(folder / f"events.out.tfevents.{first:010}")
    return run


def test_a_resumed_runs_steps_count_once(tmp_path):
    run = written(tmp_path / "bidaf", [5.0, 4.0, 9.0, 9.0])
    written(run, [3.0, 2.0, 1.0], first=2)
    assert curves(run)["hard"] == [(1, 5.0), (2, 4.0), (3, 3.0), (4, 2.0), (5, 1.0)]
    assert curves(run)["soft"][-1] == (5, 2.0)


def test_many_steps_are_drawn_as_means_of_a_hundred_parts():
    points = [(step, float(step)) for step in range(1000)]
    curve = averaged(points)
    assert len(curve) == 100
    assert curve[0] == (10, 4.5)
    assert curve[-1] == (1000, 994.5)


def test_the_plot_has_a_curve_for_each_run_in_each_panel(tmp_path, capsys):
    runs = (written(tmp_path / "bidaf", [5.0, 3.0]), written(tmp_path / "qanet", [5.0, 4.0, 2.0]))
    print_curves(CurvesOptions(runs, tmp_path / "made" / "plot.svg"))
    svg = (tmp_path / "made" / "plot.svg").read_text(encoding="utf-8")
    assert len(curve_paths(svg)) == 4
    assert ">bidaf</text>" in svg
    assert ">qanet</text>" in svg
    assert "qanet: 3 steps; hard 5.00 to 2.00, soft 10.00 to 4.00" in capsys.readouterr().out


def test_folders_without_curves_or_of_one_name_are_refused(tmp_path):
    with pytest.raises(OptionError, match="has no curves of distillation in training/student"):
        print_curves(CurvesOptions((tmp_path,), tmp_path / "plot.svg"))
    with pytest.raises(OptionError, match="runs must be folders of different names, got a a"):
        CurvesOptions((tmp_path / "x" / "a", tmp_path / "y" / "a"), tmp_path / "plot.svg")
    with pytest.raises(OptionError, match="runs must be at least one folder"):
        CurvesOptions((), tmp_path / "plot.svg")
