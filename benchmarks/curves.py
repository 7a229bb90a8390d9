"""How the losses of distillation fell over the steps of one or several runs, from the TensorBoard curves that
a run keeps.

    python -m benchmarks.curves RUN RUN ... --plot losses.svg
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from benchmarks.show.panels import Panel, panels_svg
from benchmarks.show.plots import linear_axis
from qa.base.cli import check_option, run_command
from qa.base.errors import OptionError
from qa.base.files import check_new_file, write_whole

STAGE = "student"
TERMS = {"hard": "loss on the gold answers, nats", "soft": "divergence from the teacher x T², nats"}
PARTS = 100  # of a run; a point of a curve is the mean over one

Curve = list[tuple[float, float]]


@dataclass(frozen=True)
class CurvesConfig:
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
    """(steps done, mean loss) of every term, over PARTS equal parts of the run; OptionError where there are
    none.

    What a resumed run did again counts once: it tells TensorBoard from which step on.
    """
    folder = run / "training" / STAGE
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})  # 0: all
    if folder.is_dir():
        events.Reload()
    tags = {term: f"{STAGE}/{term}" for term in TERMS}
    if not set(tags.values()) <= set(events.Tags()["scalars"]):
        raise OptionError(
            f"{run}: holds no curves of distillation in training/{STAGE}; give a folder of python -m "
            "distill.run"
        )
    return {
        term: averaged([(one.step, one.value) for one in events.Scalars(tag)]) for term, tag in tags.items()
    }


def averaged(points: Sequence[tuple[int, float]]) -> Curve:
    """(steps done, mean value) of at most PARTS parts with equally many points, in the order of their
    steps.
    """
    steps, values = np.array(sorted(dict(points).items())).T
    parts = np.array_split(np.arange(len(steps)), min(PARTS, len(steps)))
    return [(float(steps[part[-1]]) + 1, float(values[part].mean())) for part in parts]


def panels(found: Mapping[str, Mapping[str, Curve]]) -> list[Panel]:
    """One for each term, with a curve for each run by its name."""
    x = linear_axis(0, max(step for terms in found.values() for curve in terms.values() for step, _ in curve))
    made = []
    for term, title in TERMS.items():
        series = {name: terms[term] for name, terms in found.items()}
        highest = max(value for curve in series.values() for _, value in curve)
        made.append(Panel(title, "steps", x, linear_axis(0, 1.05 * highest), series, joined=True))
    return made


def main(config: CurvesConfig) -> None:
    """Draw, and print where every run began and ended."""
    found = {run.resolve().name: curves(run) for run in config.runs}
    config.plot.parent.mkdir(parents=True, exist_ok=True)
    write_whole(config.plot, panels_svg(panels(found)))
    for name, terms in found.items():
        ends = ", ".join(f"{term} {curve[0][1]:.2f} to {curve[-1][1]:.2f}" for term, curve in terms.items())
        print(f"{name}: {terms['hard'][-1][0]:,.0f} steps; {ends} (means over the first and last hundredth)")
    print(f"plot: {config.plot}")


if __name__ == "__main__":
    run_command(main)
