"""The report of a comparison: one HTML page that needs nothing beside it, no network and, but for sorting, no
script."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.results.rows import UNPADDED, Failure, Latency
from benchmarks.results.stats import mean_of
from benchmarks.show.columns import (
    BUNDLE,
    DATA,
    F1_INTERVAL,
    INSTRUCTIONS,
    LATENCY,
    MACHINE,
    PRECISION,
    QUESTIONS,
    RUNTIME,
    SUMMARY,
    TARGET,
    Line,
)
from benchmarks.show.footnotes import all_times, busy_cores, process_conditions
from benchmarks.show.groups import Entry, Group
from benchmarks.show.model_plots import group_plots
from benchmarks.show.phone_views import newest_on_phone
from benchmarks.show.plots import GREY, scatter_svg
from benchmarks.show.questions import (
    LENGTHS,
    TYPES,
    Kept,
    chosen_three,
    passage_length,
    question_type,
    regressions,
    shown,
    slices,
)
from benchmarks.show.ranking import rankings
from benchmarks.show.tables import Column, Table, make_table, number, plural, span
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
KEEPS_ENOUGH = 0.97  # F1 retained from which on only speed counts
NEAR_THE_MOST = (
    0.02  # where no model keeps that much, speed counts among those this near to the one that keeps most
)
NO_ANSWERS = (
    "No F1 by question or passage: it takes the data file, and the answers of the teacher and of an int8 "
    "model, which compare.py "
    "keeps beside the rows in <rows>.predictions."
)


def best_entry(group: Group) -> Entry | None:
    """The fastest of ours that keeps 97 % of the baseline's F1, or where none does is within 2 points of the
    most.

    Of models that were timed; where none was, the one that keeps the most. Times are those of `deciding`.
    """
    known = _candidates(group)
    timed = [e for e in known if _speedup(group, e)]
    most = max((_retained(group, e) for e in timed or known), default=0)
    if not timed:
        return next((e for e in known if _retained(group, e) == most), None)
    floor = KEEPS_ENOUGH if most >= KEEPS_ENOUGH else most - NEAR_THE_MOST
    return max((e for e in timed if _retained(group, e) >= floor), key=lambda e: _speedup(group, e))


def _candidates(group: Group) -> list[Entry]:
    """The models that are neither the baseline nor another tool's, and of which all is known that a headline
    says."""
    known = [e for e in group.entries if group.retained(e) is not None and e.newest.size_bytes]
    return [e for e in known if not group.is_baseline(e) and not e.is_peer]


def _retained(group: Group, entry: Entry) -> float:
    return mean_of(group.retained(entry)) or 0.0


def deciding(group: Group, entry: Entry) -> Latency | None:
    """The times by which models are chosen: unpadded with one thread, or where none of ours has them
    padded.
    """
    unpadded = any(group.speedup(e.at(UNPADDED)) is not None for e in _candidates(group))
    return entry.at(UNPADDED) if unpadded else entry.at(group.longest)


def _speedup(group: Group, entry: Entry) -> float:
    return mean_of(group.speedup(deciding(group, entry))) or 0.0


def why_best(group: Group, best: Entry) -> str:
    """What `best_entry` chose it for."""
    if not _speedup(group, best):
        return "keeps the most of F1; none was timed"
    enough = f"at least {KEEPS_ENOUGH:.0%} of F1"
    near = f"F1 within {100 * NEAR_THE_MOST:g} points of the most (none timed retains {KEEPS_ENOUGH:.0%})"
    return f"the fastest that retains {enough if _retained(group, best) >= KEEPS_ENOUGH else near}"


def headline(group: Group) -> tuple[str, list[tuple[str, str]]]:
    """One sentence, and the figures that carry it as (figure, what it is). Like is divided by like."""
    if group.on_phone:
        return f"{plural(len({r.model for r in group.results}), 'model')} on {group.machine}", []
    best = best_entry(group)
    base = group.baseline_entry
    if best is None or base is None or base.f1 is None or best.f1 is None or not base.newest.size_bytes:
        return f"{plural(len(group.entries), 'model')} on {group.data}", []
    teacher = base.model
    retained = _retained(group, best)
    size = best.newest.size_bytes or 1
    before = base.newest.size_bytes
    cards = [
        (f"{best.f1:.2f}", f"F1; {teacher} has {base.f1:.2f}"),
        (f"{retained:.1%}", f"of {teacher}'s F1 retained"),
        (f"{size / 1e6:.1f} MB", f"{before / size:.1f} times smaller than {before / 1e6:.1f} MB"),
    ]
    said = [f"{before / size:.1f} times smaller"]
    for lengths in group.shown_lengths:
        where = "unpadded" if lengths == UNPADDED else f"padded to {lengths}"
        row = best.at(lengths)
        if row is not None and (faster := group.speedup(row)) is not None:
            quick = ", quick" if row.quick else ""
            mean = number(row.latency_ms_mean, ".1f")
            cards.append(
                (
                    f"{mean_of(faster):.1f}x",
                    f"faster, both {where}{_ends(faster)}: mean {mean} ms, 1 thread{quick}",
                )
            )
            said.append(f"{mean_of(faster):.1f} times faster {where}")
    if (gain := group.padding_gain(best)) is not None:
        cards.append(
            (
                f"{mean_of(gain):.1f}x",
                f"{best.model} unpadded instead of padded to {group.longest}{_ends(gain)}",
            )
        )
    return f"{best.model} keeps {retained:.1%} of {teacher}'s F1: {', '.join(said)}", cards


def _ends(value: Interval | float) -> str:
    return f" (95 %: {span(value)})" if isinstance(value, Interval) else ""


def in_percent(ratio: Interval | float | None) -> Interval | None:
    """The interval of a ratio in percent; None without one."""
    return (
        Interval(100 * ratio.mean, 100 * ratio.low, 100 * ratio.high) if isinstance(ratio, Interval) else None
    )


def embedded(svg: str) -> str:
    """Return a drawing as part of an HTML page: without namespaces, and text in the page's colour."""
    return re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace(GREY, "currentColor")


@dataclass(frozen=True)
class Bar:
    """A bar from 0 to `percent`, with its interval as a line where it is known."""

    name: str
    percent: float
    interval: Interval | None
    kind: str
    unit: str = ""


@dataclass(frozen=True)
class Page:
    """What a page is made of. `notices` are lines about what was left out and why, `command` makes the page
    again."""

    groups: Sequence[Group]
    kept: Kept | None = None
    notices: Sequence[str] = ()
    command: str = ""

    def render(self) -> str:
        """The whole page."""
        return TEMPLATES.get_template("page.html.j2").render(page=self, no_answers=NO_ANSWERS)

    def file(self, name: str) -> str:
        """The text of a file beside the template."""
        return (Path(__file__).parent / name).read_text(encoding="utf-8")

    def where(self, group: Group) -> str:
        """The group's name for a heading, where there are several."""
        return f" on {group.target} ({group.data or group.machine})" if len(self.groups) > 1 else ""

    @cached_property
    def headlines(self) -> list[tuple[Group, str, list[tuple[str, str]], list[Failure]]]:
        """Of every group: sentence, cards and failures."""
        found = []
        for group in self.groups:
            failures = [e.failure for e in group.entries if e.failure]
            failures += (
                [r for r in newest_on_phone(group) if isinstance(r, Failure)] if group.on_phone else []
            )
            found.append((group, *headline(group), failures))
        return found

    @property
    def all_notices(self) -> list[str]:
        """What was left out, and what is compared with another baseline than the one shown."""
        return [*self.notices, *filter(None, map(other_baselines, self.groups))]

    @cached_property
    def plots(self) -> list[tuple[Group, list[tuple[str, str]]]]:
        """For each group with plots: their titles and drawings, with text in the page's colour."""
        found = []
        for group in self.groups:
            plots = [(plot.title, embedded(scatter_svg(plot))) for plot in group_plots(group).values()]
            found += [(group, plots)] if plots else []
        return found

    @property
    def targets(self) -> list[str]:
        """To choose from."""
        return list(dict.fromkeys(group.target for group in self.groups))

    @cached_property
    def models(self) -> Table | None:
        """A line for each model and target."""
        lines = [Line(group, e) for group in self.groups for e in group.entries]
        if not lines:
            return None
        notes = [note for table in view_tables(self.groups, "summary") for note in table.footnotes]
        best = best_entry(self.groups[0])
        if best is not None:
            where = f" on {self.groups[0].target}" if len(self.groups) > 1 else ""
            notes.append(f"green: {why_best(self.groups[0], best)}{where}")
        own = [F1_INTERVAL if c.heading == "F1" else c for c in SUMMARY]
        own.insert(1, TARGET)
        own[2:2] = self._places(lines)
        return make_table("Models", [*own, INSTRUCTIONS, QUESTIONS], lines, list(dict.fromkeys(notes)))

    def _places(self, lines: Sequence[Line]) -> list[Column]:
        return [column for column in (DATA, MACHINE) if len({str(column.value(line)) for line in lines}) > 1]

    def is_best(self, line: Line) -> bool:
        """Whether the headline is about this model."""
        return bool(self.groups) and line.group is self.groups[0] and line.entry is best_entry(self.groups[0])

    @property
    def rankings(self) -> list[tuple[Group, str, list[tuple[str, Table]]]]:
        """For each group with other toolchains: the verdicts, and a titled table for each length.

        A footnote that several tables share stands under the first.
        """
        found = []
        for group in self.groups:
            ranked = rankings(group)
            tables = []
            shown = set[str]()
            for ranking in ranked:
                table = ranking.table()
                title = f"{ranking.where[0].upper()}{ranking.where[1:]}, exports of {ranking.made_from}"
                new = tuple(text for text in table.footnotes if text not in shown)
                tables.append((title, replace(table, footnotes=new)))
                shown.update(table.footnotes)
            if tables:
                found.append((group, ". ".join(ranking.verdict() for ranking in ranked), tables))
        return found

    @property
    def padding(self) -> list[tuple[Group, Table]]:
        """What exact lengths gain, for each group that was timed at both."""
        return [(group, table) for group in self.groups for table in view_tables([group], "padding")]

    @property
    def retained(self) -> list[tuple[Group, str, list[Bar]]]:
        """F1 retained as bars, for each group with a baseline."""
        found = []
        for group in self.groups:
            base = group.baseline_entry
            others = [e for e in group.entries if e is not base and group.retained(e) is not None]
            if base is not None and others:
                bars = [
                    Bar(e.model, 100 * _retained(group, e), in_percent(group.retained(e)), "s2", "%")
                    for e in others
                ]
                found.append((group, base.model, bars))
        return found

    @cached_property
    def questions(self) -> dict[str, Any]:
        """Bins and examples of the first group whose answers are kept; empty without any."""
        kept = self.kept
        group = next((g for g in self.groups if kept and any(map(kept.holds, g.entries))), None)
        models = chosen_three(kept, group) if kept is not None and group is not None else []
        if kept is None or not models:
            return {}
        names = ["teacher", "student", "int8 student"] if len(models) == 3 else ["teacher", "int8"]
        kinds = [f"s{number}" for number in range(len(names))]
        sorts = ("question word", question_type, TYPES), ("length of the passage", passage_length, LENGTHS)
        bins = [
            (
                title,
                [
                    (
                        one,
                        [
                            Bar(name, f1.mean, f1, kind)
                            for name, f1, kind in zip(names, one.f1, kinds, strict=True)
                        ],
                    )
                    for one in slices(kept, models, function, order)
                ],
            )
            for title, function, order in sorts
        ]
        falls = regressions(kept, models)
        examples = [shown(kept, number, models) for number in falls.worst]
        return {
            "models": models,
            "names": names,
            "bins": bins,
            "falls": falls,
            "n": len(kept.examples),
            "examples": examples,
        }

    @cached_property
    def settings(self) -> Table | None:
        """A line for each setting that was timed; phones have a table of their own."""
        lines = [Line(group, e, row) for group in self.groups for e in group.entries for row in e.times()]
        if not lines:
            return None
        notes = [
            note
            for table in view_tables([g for g in self.groups if not g.on_phone], "latency")
            for note in table.footnotes
        ]
        own = [
            *LATENCY[:1],
            TARGET,
            *self._places(lines),
            RUNTIME,
            PRECISION,
            *LATENCY[1:],
        ]
        return make_table("Settings", [*own, BUNDLE], lines, list(dict.fromkeys(notes)))

    @property
    def phones(self) -> list[Table]:
        """The table of each phone."""
        return view_tables([group for group in self.groups if group.on_phone], "latency")

    @property
    def conditions(self) -> list[list[tuple[str, str]]]:
        """Target, machine, runtimes, data and dates of each group."""
        return list(map(conditions, self.groups))

    @property
    def commands(self) -> list[str]:
        """What the results came from, newest first."""
        results = [r for group in self.groups for r in _shown(group)]
        return list(dict.fromkeys(r.command for r in sorted(results, key=lambda r: r.date, reverse=True)))


def _shown(group: Group) -> list[Any]:
    """The results that the page shows: of models on data, of training; all where there are none, as of a
    phone."""
    entries = [one for e in group.entries for one in (e.accuracy, e.failure, e.newest) if one]
    training = [result for result in group.results if result.stage == "training"]
    return [*entries, *all_times(group), *training] or group.results


def other_baselines(group: Group) -> str:
    """A line about the models whose F1 retained is against another baseline than the one shown; empty without
    any."""
    entries = group.compared_with_others()
    if not entries or group.baseline is None:
        return ""
    names = ", ".join(e.model for e in entries)
    base = group.baseline.baseline
    return f"{names}: compared with another model than {base}, so F1 retained is left out"


def conditions(group: Group) -> list[tuple[str, str]]:
    """Target, machine, runtimes, data and dates."""
    results = _shown(group)
    dates = sorted(r.date.replace("T", " ").replace("Z", " UTC") for r in results)
    runtimes = dict.fromkeys(str(r.runtime) for r in results if r.runtime)
    found = [("Target", group.target), ("Machine", group.machine), ("Runtimes", ", ".join(runtimes))]
    times = all_times(group)
    found += [(name[0].upper() + name[1:], value) for name, value in process_conditions(times)]
    if any(row.other_load is not None for row in times):
        found.append(
            (
                "Other load",
                f"other processes kept {busy_cores(times):.2f} cores busy while latency was measured",
            )
        )
    if group.newest.data is not None:
        scores = next((e.accuracy for e in group.entries if e.accuracy and e.accuracy.n_windows), None)
        counts = (
            f", {plural(scores.n, 'question')} in {plural(scores.n_windows or 0, 'window')}" if scores else ""
        )
        found.append(("Data", f"{group.data}{counts}, SHA-256 {group.newest.data.sha256}"))
    return [*found, ("Date", " to ".join(dict.fromkeys((dates[0], dates[-1]))))]


def write_report(path: Path, page: Page) -> None:
    """Write the page by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page.render())
