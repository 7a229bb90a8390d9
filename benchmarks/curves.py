"""Losses of distillation over the steps of one or several runs, from the TensorBoard curves that a run keeps.

python -m benchmarks.curves RUN RUN ... --plot losses.svg
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from benchmarks.show.plots import Panel, panels_svg
from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import check_new_file, write_whole

STAGE = "student"
TERMS = {"hard": "loss on the gold answers, nats", "soft": "divergence from the teacher x T², nats"}
N_POINTS = 100  # of a curve; each is the mean over an equal part of the run

Curve = list[tuple[float, float]]


@dataclass(frozen=True)
class CurvesOptions:
    """Draw the losses of distillation of several runs."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders that python -m distill.run wrote."""
    plot: Path
    """SVG file to draw into."""

    def __post_init__(self) -> None:
        names = [run.resolve().name for run in self.runs]
        check_option(len(names) > 0, "runs", "none", "at least one folder of distill.run")
        check_option(len(set(names)) == len(names), "runs", " ".join(names), "folders of different names")
        check_new_file(self.plot, "--plot")


def curves(run: Path) -> dict[str, Curve]:
    """Return (steps done, mean loss) of every term; OptionError for a folder without them.

    A step that a resumed run repeated counts once: the run tells TensorBoard from which step on.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = run / "training" / STAGE
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})  # 0: all
    if folder.is_dir():
        events.Reload()
    tags = {term: f"{STAGE}/{term}" for term in TERMS}
    if not set(tags.values()) <= set(events.Tags()["scalars"]):
        raise OptionError(
            f"{run}: has no curves of distillation in training/{STAGE}; give a folder of distill.run whose "
            "student learnt from a teacher's logits (TensorBoard shows the others)"
        )
    return {term: averaged([(e.step, e.value) for e in events.Scalars(tag)]) for term, tag in tags.items()}


def averaged(points: Sequence[tuple[int, float]]) -> Curve:
    """Return (steps done, mean value) of at most N_POINTS parts with equally many steps, in order."""
    steps, values = np.array(sorted(dict(points).items())).T
    parts = np.array_split(np.arange(len(steps)), min(N_POINTS, len(steps)))
    return [(float(steps[part[-1]]) + 1, float(values[part].mean())) for part in parts]


def print_curves(options: CurvesOptions) -> None:
    """Draw the curves, and print the first and last value of each."""
    losses = {run.resolve().name: curves(run) for run in options.runs}
    panels = [
        Panel(title, "steps", {name: terms[term] for name, terms in losses.items()})
        for term, title in TERMS.items()
    ]
    write_whole(options.plot, panels_svg(panels))
    for name, terms in losses.items():
        ends = ", ".join(f"{term} {curve[0][1]:.2f} to {curve[-1][1]:.2f}" for term, curve in terms.items())
        print(f"{name}: {terms['hard'][-1][0]:,.0f} steps; {ends} (means over the first and last hundredth)")
    print(f"plot: {options.plot}")


if __name__ == "__main__":
    run_command("curves")
