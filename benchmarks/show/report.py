"""The HTML page of a comparison: one file that loads nothing, and needs a script only to sort."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from benchmarks.results.rows import AnyResult
from benchmarks.show.columns import PAGE_MODELS, PAGE_SETTINGS, Line
from benchmarks.show.footnotes import caution_footnotes, failure_footnotes
from benchmarks.show.groups import Entry, Group
from benchmarks.show.headline import FEW_QUESTIONS, best_entry, few_questions, headline, which_to_ship
from benchmarks.show.model_plots import group_plots
from benchmarks.show.phone_views import newest_on_phone
from benchmarks.show.plots import GREY, panels_svg, reliability_panel, scatter_svg
from benchmarks.show.questions import Kept, chosen_three, regressions
from benchmarks.show.ranking import ranking_tables
from benchmarks.show.tables import Table, make_table, plural, span
from benchmarks.show.views import view_tables
from qa.base.files import write_whole
from qa.data.metrics import gold_texts
from qa.evaluation.bootstrap import Interval

MOST_PANELS = 3  # reliability plots side by side
Found = TypeVar("Found")


@dataclass(frozen=True)
class Page:
    """Content of the page; `notices` say what was left out and why, `command` writes the page again."""

    groups: Sequence[Group]
    kept: Kept | None = None
    notices: Sequence[str] = ()
    command: str = ""

    def render(self) -> str:
        """Return the whole page."""
        return TEMPLATES.get_template("page.html.j2").render(page=self)

    def each(self, find: Callable[[Group], Found]) -> list[tuple[Group, Found]]:
        """Return the groups for which `find` finds anything, each with that."""
        return [(group, found) for group in self.groups if (found := find(group))]

    def where(self, group: Group) -> str:
        """Return the group's name for a heading, if there are several groups."""
        places = [(each.target, each.data) for each in self.groups]
        on = f", {group.machine}" if group.data and places.count((group.target, group.data)) > 1 else ""
        return f" on {group.target} ({group.data or group.machine}{on})" if len(self.groups) > 1 else ""

    @cached_property
    def best(self) -> tuple[Entry | None, str]:
        """The model that the first headline is about, and why."""
        return best_entry(self.groups[0]) if self.groups else (None, "")

    @cached_property
    def models(self) -> Table | None:
        """The table of all models and targets."""
        lines = [Line(e) for group in self.groups for e in group.entries]
        if not lines:
            return None
        footnotes = self._footnotes("summary")
        best, why = self.best
        if best is not None:
            where = f" on {best.group.target}" if len(self.groups) > 1 else ""
            footnotes.append(f"green: {why}{where}")
        return make_table("Models", PAGE_MODELS, lines, footnotes)

    @cached_property
    def settings(self) -> Table | None:
        """The table of all settings that were timed, except on phones."""
        lines = [Line(e, row) for group in self.groups for e in group.entries for row in e.times()]
        return make_table("Settings", PAGE_SETTINGS, lines, self._footnotes("latency")) if lines else None

    def _footnotes(self, view: str) -> list[str]:
        """Return the footnotes of a view of all groups, each once."""
        tables = view_tables([group for group in self.groups if not group.on_phone], view)
        data = dict.fromkeys(r.data for group in self.groups for r in group.results if r.data)
        footnotes = dict.fromkeys(text for table in tables for text in table.footnotes)
        return [*footnotes, *(f"data: {one.name}, SHA-256 {one.sha256}" for one in data)]

    @cached_property
    def questions(self) -> dict[str, Any]:
        """Regressions of the first group whose answers are kept; empty without any."""
        kept = self.kept
        if kept is None:
            return {}
        group = next((g for g in self.groups if any(e in kept.f1 for e in g.entries)), None)
        models = chosen_three(kept, group) if group is not None else []
        if not models:
            return {}
        names = ["baseline", "student", "int8 student"] if len(models) == 3 else ["baseline", "int8"]
        return {"models": models, "names": names, "falls": regressions(kept, models)}

    @property
    def commands(self) -> list[str]:
        """The commands that measured the results, newest first."""
        results = [r for group in self.groups for r in shown_results(group)]
        return list(dict.fromkeys(r.command for r in sorted(results, key=lambda r: r.date, reverse=True)))


def failures(group: Group) -> list[str]:
    """Say in a line which failures no later run has made good."""
    newest = newest_on_phone(group) if group.on_phone else [e.failure for e in group.entries]
    return list(failure_footnotes(newest))


def retained(group: Group) -> tuple[list[Entry], float] | None:
    """Return the models with F1 retained, and the chart's width in percent; None without a baseline."""
    base = group.baseline_entry
    compared = [e for e in group.entries if e is not base and e.retained is not None]
    if base is None or not compared:
        return None
    ends = [e.retained.high if isinstance(e.retained, Interval) else e.mean_retained for e in compared]
    return compared, max(100.0, 100 * max(ends))


def reliability(group: Group) -> list[str]:
    """Draw the reliability of the first calibrated models that have enough questions."""
    scored = [a for a in group.scores if a.reliability and a.n >= FEW_QUESTIONS][:MOST_PANELS]
    panels = [reliability_panel(a.model, a.reliability, a.uncalibrated_reliability) for a in scored]
    return [panels_svg([panel]) for panel in panels]


def shown_results(group: Group) -> list[AnyResult]:
    """Return the results of models that the page shows; all where there are none."""
    entries = [r for e in group.entries for r in (e.accuracy, e.failure, e.newest) if r]
    return [*entries, *group.times] or group.results


def other_baselines(group: Group) -> str:
    """Return a line about models that are compared with another baseline; empty without any."""
    names = ", ".join(e.model for e in group.compared_with_others)
    why = f"compared with another model than {group.baseline_name}, so its scores retained are left out"
    return f"{names}: {why}" if names else ""


def embedded(svg: str) -> Markup:
    """Return a drawing as part of an HTML page: without namespaces, and text in the page's colour."""
    return Markup(re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace(GREY, "currentColor"))


def beside(name: str) -> Markup:
    """Return the text of a file beside the template."""
    return Markup((FOLDER / name).read_text(encoding="utf-8"))


def write_report(path: Path, page: Page) -> None:
    """Write the page by rename."""
    write_whole(path, page.render())


FOLDER = Path(__file__).parent
TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
HELPERS: list[Callable[..., Any]] = [beside, embedded, failures, few_questions, gold_texts]
HELPERS += [
    group_plots,
    headline,
    other_baselines,
    caution_footnotes,
    plural,
    ranking_tables,
    reliability,
    retained,
]
HELPERS += [scatter_svg, span, view_tables, which_to_ship]
TEMPLATES.globals |= {helper.__name__: helper for helper in HELPERS}
