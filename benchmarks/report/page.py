"""The report of a comparison: one HTML page that needs nothing beside it, no network and, but for sorting, no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from benchmarks.report.headline import baseline_entry, best_entry, headline, why_best
from benchmarks.report.html import definitions, plural, text
from benchmarks.report.peers import peers_section
from benchmarks.report.plots import group_plots, runtime_colours
from benchmarks.report.question_views import bar, question_sections
from benchmarks.report.questions import Kept, group_intervals
from benchmarks.report.settings import current_rows
from benchmarks.report.tables import (
    MODEL_COLUMNS,
    SETTING_COLUMNS,
    Intervals,
    model_lines,
    setting_lines,
    sortable,
    target_filter,
)
from benchmarks.rows import OK
from benchmarks.views.groups import Group
from benchmarks.views.notes import busy_cores, process_conditions, timed_rows
from benchmarks.views.tables import view_tables
from qa.files import write_whole

NO_INTERVALS = "No intervals: the answers these figures are from are not kept, or the data file was not given."
NO_ANSWERS = (
    "No F1 by question or passage: it takes the data file, and the answers of the teacher and of an int8 model, which compare.py "
    "keeps beside the rows in <rows>.predictions."
)
# Nothing is fetched, whatever a row may hold; "data:," as icon keeps a browser from asking a server for one.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True)
class Page:
    """What a page is made of. `notices` are lines about what was left out and why, `command` makes the page again."""

    groups: Sequence[Group]
    kept: Kept | None = None
    notices: Sequence[str] = ()
    command: str = ""

    @cached_property
    def intervals(self) -> list[Intervals]:
        """The intervals of each group."""
        return [group_intervals(self.kept, group) for group in self.groups]

    def render(self) -> str:
        """The whole page."""
        title, parts = "Nothing measured", []
        if self.groups:
            title = headline(self.groups[0])[0]
            parts = [self._head(), self._trade_offs(), self._models(), self._peers(), self._retained()]
            parts += [self._questions(), self._settings(), self._conditions(), self._commands()]
        css, script = (resources.files("benchmarks.report").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><link rel="icon" href="data:,">'
            f"<title>{text(title)}</title><style>{css}</style></head><body>\n{''.join(parts)}\n<script>{script}</script></body></html>\n"
        )

    def _head(self) -> str:
        parts = []
        for number, group in enumerate(self.groups):
            sentence, cards = headline(group)
            heading = "h1" if number == 0 else "h2"
            on = f"{group.target}: {group.machine}" + (f"; {group.data}" if group.data else "")
            parts.append(f'<{heading}>{text(sentence)}</{heading}>\n<p class="soft">{text(on)}</p>\n')
            parts += [f'<div class="cards">{"".join(_card(*card) for card in cards)}</div>\n'] if cards else []
            failures = [] if group.on_phone else [e.facts for e in group.entries]
            failures += current_rows(group) if group.on_phone else []
            parts += [f'<p class="failed">{_failure(row)}</p>\n' for row in failures if row["status"] != OK]
        notices = [*self.notices, *filter(None, map(other_baselines, self.groups))]
        parts += [f'<p class="notice">{text(notice)}</p>\n' for notice in notices]
        return f"<header>{''.join(parts)}</header>\n"

    def _trade_offs(self) -> str:
        colours = runtime_colours(self.groups)
        parts = []
        for group, known in zip(self.groups, self.intervals, strict=True):
            figures = group_plots(group, {model: f1 for model, (f1, _) in known.items()}, colours)
            if figures:
                parts.append(f'<h2>Trade-offs{self._where(group)}</h2>\n<div class="plots">{"".join(figures)}</div>\n')
        hint = "Below the line and to its right is what others beat. Touch, point at or tab to a mark: it says what it is."
        return f'<section>{"".join(parts)}<p class="notes">{hint}</p></section>\n' if parts else ""

    def _where(self, group: Group) -> str:
        """The group's name for a heading, where there are several."""
        several = len(self.groups) > 1
        return f" on {text(group.target)} ({text(group.data or group.machine)})" if several else ""

    def _models(self) -> str:
        lines = model_lines(self.groups, self.intervals)
        if not lines:
            return ""
        best = best_entry(self.groups[0])
        notes = list(dict.fromkeys(note for table in view_tables(self.groups, "summary") for note in table.notes))
        if best is not None:
            where = f" on {self.groups[0].target}" if len(self.groups) > 1 else ""
            notes.append(f"green: {why_best(self.groups[0], best)}{where}")
        listed = "".join(f"<li>{text(note)}</li>" for note in notes)
        table = sortable(lines, MODEL_COLUMNS, best, "Models")
        return f'<section><h2>Models</h2>\n{target_filter(self.groups)}\n{table}\n<ul class="notes">{listed}</ul></section>\n'

    def _peers(self) -> str:
        return "".join(peers_section(group, self._where(group)) for group in self.groups if not group.on_phone)

    def _retained(self) -> str:
        parts = []
        for group, known in zip(self.groups, self.intervals, strict=True):
            base, bars = baseline_entry(group), []
            for entry in (e for e in group.entries if e is not base and group.retained(e) is not None):
                ratio = known.get(entry.facts["model"], (None, None))[1]
                ends = (100 * ratio.low, 100 * ratio.high) if ratio else None
                kept = 100 * entry.facts["f1_retained"]
                bars.append(bar(entry.facts["model"], kept, ends, f"{kept:.1f}%", "s2"))
            if bars and base is not None:
                how = "95 % interval: paired over questions, the same draws for both." if known else NO_INTERVALS
                parts.append(
                    f"<h2>F1 retained against {text(base.facts['model'])}{self._where(group)}</h2>\n"
                    f'<div class="bins retained">{"".join(bars)}</div>\n<p class="notes">F1 divided by that of '
                    f"{text(base.facts['model'])}. {how}</p>\n"
                )
        return f"<section>{''.join(parts)}</section>\n" if parts else ""

    def _questions(self) -> str:
        group = next((g for g in self.groups if self.kept and any(map(self.kept.holds, g.entries))), self.groups[0])
        return "" if group.on_phone else f"<section>{question_sections(self.kept, group, NO_ANSWERS)}</section>\n"

    def _settings(self) -> str:
        lines = setting_lines(self.groups)
        if not lines:
            return ""
        notes = [note for table in view_tables(self.groups, "latency") for note in table.notes]
        listed = "".join(f"<li>{text(note)}</li>" for note in dict.fromkeys(notes))
        table = sortable(lines, SETTING_COLUMNS, None, "Settings")
        return f'<section><h2>Every setting</h2>\n{table}\n<ul class="notes">{listed}</ul></section>\n'

    def _conditions(self) -> str:
        return f"<section><h2>Conditions</h2>\n{''.join(map(conditions, self.groups))}</section>\n"

    def _commands(self) -> str:
        shown = [row for g in self.groups for row in (*(e.facts for e in g.entries), *current_rows(g))]
        shown.sort(key=lambda row: row["date"], reverse=True)
        commands = list(dict.fromkeys(row["command"] for row in shown))
        first = f"<p>This page, from the rows:</p><pre>{text(self.command)}</pre>\n" if self.command else ""
        newest, older = (_pre(commands[:1]), _pre(commands[1:]))
        older = (
            f"<details><summary>{plural(len(commands) - 1, 'earlier command')}</summary>{older}</details>" if commands[1:] else ""
        )
        return f"<section><h2>To repeat it</h2>\n{first}<p>The rows, newest first:</p>{newest}{older}</section>\n"


def _pre(commands: Sequence[str]) -> str:
    return "".join(f"<pre>{text(command)}</pre>" for command in commands)


def _card(figure: str, what: str) -> str:
    return f'<div class="card"><b>{text(figure)}</b><span>{text(what)}</span></div>'


def _failure(row: dict[str, object]) -> str:
    return f"{text(row['model'])} failed: {text(row['status'])}"


def other_baselines(group: Group) -> str:
    """A line about the models whose relative figures are against another baseline than the one shown; empty without any."""
    entries = group.compared_with_others()
    if not entries:
        return ""
    names, base = ", ".join(e.facts["model"] for e in entries), group.baseline["baseline"]
    return f"{names}: compared with another model than {base}, so F1 retained and speed against {base} are left out"


def conditions(group: Group) -> str:
    """Target, machine, runtimes, data and dates, as a list."""
    rows = [*(e.facts for e in group.entries), *current_rows(group)]
    runtimes = dict.fromkeys(row["runtime"] for row in rows if "runtime" in row)
    dates = sorted(row["date"].replace("T", " ").replace("Z", " UTC") for row in rows)
    facts = [("Target", group.target), ("Machine", group.machine), ("Runtimes", ", ".join(runtimes))]
    facts += [(name[0].upper() + name[1:], value) for name, value in process_conditions(timed_rows(group))]
    if any("other_load" in row for row in timed_rows(group)):
        busy = busy_cores(timed_rows(group))
        facts.append(("Other load", f"other processes kept {busy:.2f} cores busy while latency was measured"))
    if group.data is not None:
        counted = next((e.facts for e in group.entries if {"n", "n_windows"} <= e.facts.keys()), None)
        counts = f", {plural(counted['n'], 'question')} in {plural(counted['n_windows'], 'window')}" if counted else ""
        facts.append(("Data", f"{group.data}{counts}, SHA-256 {group.newest['data']['sha256']}"))
    facts.append(("Date", " to ".join(dict.fromkeys((dates[0], dates[-1])))))
    return definitions(facts)


def write_report(path: Path, page: Page) -> None:
    """Write the page by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page.render())
