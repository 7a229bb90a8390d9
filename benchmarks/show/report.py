"""The HTML page of a comparison: one file that loads nothing, and needs a script only to sort."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.results.rows import Failure
from benchmarks.show.columns import (
    BUNDLE,
    DATA,
    F1,
    F1_INTERVAL,
    HAS_ANS,
    INSTRUCTIONS,
    LATENCY,
    MACHINE,
    NO_ANS,
    PRECISION,
    QUESTIONS,
    RUNTIME,
    SUMMARY,
    TARGET,
    Line,
)
from benchmarks.show.footnotes import all_times, busy_cores, process_conditions
from benchmarks.show.groups import Entry, Group
from benchmarks.show.headline import (
    best_entry,
    few_questions,
    headline,
    mean_retained,
    which_to_ship,
    why_best,
)
from benchmarks.show.model_plots import group_plots
from benchmarks.show.phone_views import newest_on_phone
from benchmarks.show.plots import GREY, panels_svg, scatter_svg
from benchmarks.show.questions import (
    LENGTHS,
    TYPES,
    Kept,
    chosen_three,
    compared,
    passage_length,
    question_type,
    regressions,
    slices,
)
from benchmarks.show.ranking import rankings
from benchmarks.show.reliability import reliability_panel
from benchmarks.show.tables import Column, Table, first_to_last, make_table, plural, span
from benchmarks.show.views import view_tables
from qa.base.files import write_whole
from qa.evaluation.bootstrap import Interval

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals |= {"plural": plural, "span": span}
MOST_PANELS = 3  # reliability plots side by side
NO_ANSWERS = (
    "No F1 by question or passage: this needs the data file, and the answers of the teacher and of an int8 "
    "model, which compare.py keeps beside the results in <rows>.predictions."
)


def embedded(svg: str) -> str:
    """Return a drawing as part of an HTML page: without namespaces, and text in the page's colour."""
    return re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace(GREY, "currentColor")


@dataclass(frozen=True)
class Bar:
    """A bar from 0 to `percent`, with its interval if known."""

    name: str
    percent: float
    interval: Interval | None
    kind: str
    unit: str = ""


@dataclass(frozen=True)
class Page:
    """Content of the page; `notices` say what was left out and why, `command` writes the page again."""

    groups: Sequence[Group]
    kept: Kept | None = None
    notices: Sequence[str] = ()
    command: str = ""

    def render(self) -> str:
        """Return the whole page."""
        return TEMPLATES.get_template("page.html.j2").render(page=self, no_answers=NO_ANSWERS)

    def file(self, name: str) -> str:
        """Return the text of a file beside the template."""
        return (Path(__file__).parent / name).read_text(encoding="utf-8")

    def where(self, group: Group) -> str:
        """Return the group's name for a heading, if there are several groups."""
        return f" on {group.target} ({group.data or group.machine})" if len(self.groups) > 1 else ""

    @cached_property
    def headlines(self) -> list[tuple[Group, str, list[tuple[str, str]], str, list[Failure]]]:
        """Sentence, cards, file to ship and failures of each group."""
        headlines = []
        for group in self.groups:
            phone = newest_on_phone(group) if group.on_phone else []
            failures = [r for r in (*(e.failure for e in group.entries), *phone) if isinstance(r, Failure)]
            headlines.append((group, *headline(group), which_to_ship(group), failures))
        return headlines

    @property
    def all_notices(self) -> list[str]:
        """The notices, warnings of few questions, and which models have another baseline."""
        warnings = [f(group) for group in self.groups for f in (few_questions, other_baselines)]
        return [*self.notices, *filter(None, warnings)]

    @cached_property
    def plots(self) -> list[tuple[Group, list[tuple[str, str]]]]:
        """Titles and drawings of each group with plots."""
        plots = [(group, group_plots(group).values()) for group in self.groups]
        return [(g, [(p.title, embedded(scatter_svg(p))) for p in drawn]) for g, drawn in plots if drawn]

    @property
    def targets(self) -> list[str]:
        """The targets to choose from."""
        return list(dict.fromkeys(group.target for group in self.groups))

    @cached_property
    def models(self) -> Table | None:
        """The table of all models and targets."""
        lines = [Line(group, e) for group in self.groups for e in group.entries]
        if not lines:
            return None
        footnotes = self._footnotes("summary")
        best = best_entry(self.groups[0])
        if best is not None:
            where = f" on {self.groups[0].target}" if len(self.groups) > 1 else ""
            footnotes.append(f"green: {why_best(self.groups[0], best)}{where}")
        model, *columns = SUMMARY
        at = columns.index(F1)
        columns[at : at + 1] = [F1_INTERVAL, HAS_ANS, NO_ANS]
        columns = [model, *self._places(lines), *columns, INSTRUCTIONS, QUESTIONS]
        return make_table("Models", columns, lines, footnotes)

    @cached_property
    def settings(self) -> Table | None:
        """The table of all settings that were timed, except on phones."""
        lines = [Line(group, e, row) for group in self.groups for e in group.entries for row in e.times()]
        if not lines:
            return None
        model, *columns = LATENCY
        columns = [model, *self._places(lines), RUNTIME, PRECISION, *columns, BUNDLE]
        return make_table("Settings", columns, lines, self._footnotes("latency"))

    def _footnotes(self, view: str) -> list[str]:
        """Return the footnotes of a view of all groups, each once."""
        tables = view_tables([group for group in self.groups if not group.on_phone], view)
        return list(dict.fromkeys(text for table in tables for text in table.footnotes))

    def _places(self, lines: Sequence[Line]) -> list[Column]:
        """Return the column of the target, and those of data and machine where these differ."""
        return [TARGET, *(c for c in (DATA, MACHINE) if len({str(c.value(line)) for line in lines}) > 1)]

    def is_best(self, line: Line) -> bool:
        """Return whether the headline is about this model."""
        return bool(self.groups) and line.group is self.groups[0] and line.entry is best_entry(self.groups[0])

    @property
    def rankings(self) -> list[tuple[Group, str, list[tuple[str, Table]]]]:
        """For each group with other toolchains: the verdicts, and a titled table for each length."""
        found = []
        for group in self.groups:
            ranked = rankings(group)
            tables = [
                (
                    f"{ranking.where[0].upper()}{ranking.where[1:]}, exports of {ranking.made_from}",
                    ranking.table(),
                )
                for ranking in ranked
            ]
            if tables:
                found.append((group, ". ".join(ranking.verdict() for ranking in ranked), tables))
        return found

    @property
    def padding(self) -> list[tuple[Group, Table]]:
        """The gain of unpadded windows, for each group that was timed both ways."""
        return [(group, table) for group in self.groups for table in view_tables([group], "padding")]

    @property
    def retained(self) -> list[tuple[Group, str, list[Bar], float]]:
        """F1 retained as bars, with the chart's width in percent, for each group with a baseline."""
        charts = []
        for group in self.groups:
            base = group.baseline_entry
            compared = [e for e in group.entries if e is not base and group.retained(e) is not None]
            if base is not None and compared:
                bars = [retained_bar(group, e) for e in compared]
                ends = [bar.interval.high if bar.interval else bar.percent for bar in bars]
                charts.append((group, base.model, bars, max(100.0, *ends)))
        return charts

    @property
    def reliability(self) -> list[tuple[Group, str]]:
        """Reliability plots, for each group with calibrated models."""
        plots = []
        for group in self.groups:
            scored = [(e.model, e.accuracy) for e in group.entries if e.accuracy and e.accuracy.reliability]
            panels = [
                reliability_panel(model, scores.reliability, scores.uncalibrated_reliability)
                for model, scores in scored[:MOST_PANELS]
            ]
            if panels:
                plots.append((group, embedded(panels_svg(panels))))
        return plots

    @cached_property
    def questions(self) -> dict[str, Any]:
        """Bins and examples of the first group whose answers are kept; empty without any."""
        kept = self.kept
        group = next((g for g in self.groups if kept and any(map(kept.holds, g.entries))), None)
        models = chosen_three(kept, group) if kept is not None and group is not None else []
        if kept is None or not models:
            return {}
        names = ["teacher", "student", "int8 student"] if len(models) == 3 else ["teacher", "int8"]
        bins = [
            (title, [(part, question_bars(names, part.f1)) for part in slices(kept, models, key, order)])
            for title, key, order in (
                ("question word", question_type, TYPES),
                ("length of the passage", passage_length, LENGTHS),
            )
        ]
        falls = regressions(kept, models)
        return {
            "models": models,
            "names": names,
            "bins": bins,
            "falls": falls,
            "n": len(kept.examples),
            "examples": [compared(kept, number, models) for number in falls.worst],
        }

    @property
    def phones(self) -> list[Table]:
        """The tables of each phone."""
        return view_tables([group for group in self.groups if group.on_phone], "latency")

    @property
    def conditions(self) -> list[list[tuple[str, str]]]:
        """Target, machine, runtimes, data and dates of each group."""
        return list(map(conditions, self.groups))

    @property
    def commands(self) -> list[str]:
        """The commands that measured the results, newest first."""
        results = [r for group in self.groups for r in _shown(group)]
        return list(dict.fromkeys(r.command for r in sorted(results, key=lambda r: r.date, reverse=True)))


def retained_bar(group: Group, entry: Entry) -> Bar:
    """Return F1 retained in percent as a bar."""
    ratio = group.retained(entry)
    ends = (
        Interval(*(100 * end for end in (ratio.mean, ratio.low, ratio.high)))
        if isinstance(ratio, Interval)
        else None
    )
    return Bar(entry.model, 100 * mean_retained(group, entry), ends, "s2", "%")


def question_bars(names: Sequence[str], f1: Sequence[Interval]) -> list[Bar]:
    """Return F1 of the teacher, the student and its export as bars."""
    scores = zip(names, f1, strict=True)
    return [Bar(name, value.mean, value, f"s{number}") for number, (name, value) in enumerate(scores)]


def _shown(group: Group) -> list[Any]:
    """Return the results that the page shows: of models and of training; all if there are neither."""
    entries = [r for e in group.entries for r in (e.accuracy, e.failure, e.newest) if r]
    training = [r for r in group.results if r.stage == "training"]
    return [*entries, *all_times(group), *training] or group.results


def other_baselines(group: Group) -> str:
    """Return a line about models that are compared with another baseline; empty without any."""
    entries = group.compared_with_others()
    if not entries or group.baseline is None:
        return ""
    names = ", ".join(e.model for e in entries)
    base = group.baseline.baseline
    return f"{names}: compared with another model than {base}, so F1 retained is left out"


def conditions(group: Group) -> list[tuple[str, str]]:
    """Return target, machine, runtimes, process conditions, data and dates."""
    results = _shown(group)
    times = all_times(group)
    dates = sorted(r.date.replace("T", " ").replace("Z", " UTC") for r in results)
    runtimes = dict.fromkeys(str(r.runtime) for r in results if r.runtime)
    facts = [("Target", group.target), ("Machine", group.machine), ("Runtimes", ", ".join(runtimes))]
    facts += [(name[0].upper() + name[1:], value) for name, value in process_conditions(times)]
    if any(row.other_load is not None for row in times):
        busy = f"other processes kept {busy_cores(times):.2f} cores busy while latency was measured"
        facts.append(("Other load", busy))
    if group.newest.data is not None:
        scores = next((e.accuracy for e in group.entries if e.accuracy and e.accuracy.n_windows), None)
        counts = ""
        if scores is not None:
            counts = f", {plural(scores.n, 'question')} in {plural(scores.n_windows or 0, 'window')}"
        facts.append(("Data", f"{group.data}{counts}, SHA-256 {group.newest.data.sha256}"))
    return [*facts, ("Date", first_to_last(dates))]


def write_report(path: Path, page: Page) -> None:
    """Write the page by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page.render())
