"""The report of a comparison: one HTML file that needs nothing beside it, neither network nor scripts."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from benchmarks.plots import latency_bars, latency_scatter, points, scatter
from benchmarks.rows import OK
from benchmarks.views import Entry, Group, Table, busy_cores, view_tables
from qa.files import write_whole

KEEPS_ENOUGH = 0.97  # F1 retained from which on only speed counts
NEAR_THE_MOST = 0.02  # where no model keeps that much, speed counts among those this near to the one that keeps most

CSS = """
:root { color-scheme: light dark;
  --ink: #1c2430; --soft: #5b6675; --page: #ffffff; --card: #f5f7fa; --line: #dde3ea; --good: #0b7a4b; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e6eaf0; --soft: #9aa6b5; --page: #12161c; --card: #1b212a; --line: #2e3743; --good: #4cc38a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 2.2rem 1.4rem 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p { margin: .4rem 0; }
hr { margin: 3rem 0; border: 0; border-top: 1px solid var(--line); }
.soft, .notes { color: var(--soft); }
.failed { color: #d2483b; font-weight: 600; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: .8rem; margin: 1.4rem 0; }
.card, figure, .scroll { border: 1px solid var(--line); border-radius: 10px; }
.card { background: var(--card); padding: .7rem 1.1rem; }
.card b { display: block; font-size: 1.6rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .86rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: .6rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .84rem; font-variant-numeric: tabular-nums; }
th, td { padding: .36rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; background: var(--card); }
th.name, td.name { text-align: left; }
td:first-child { font-weight: 600; }
tr:last-child td { border-bottom: 0; }
tr.best td { color: var(--good); }
.notes { font-size: .86rem; margin: .6rem 0; }
ul.notes { padding-left: 1.1rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 1rem; }
figure { margin: 0; background: var(--card); padding: .8rem .9rem; }
figure.wide { margin-top: 1rem; }
figcaption { font-weight: 600; margin-bottom: .3rem; }
svg { width: 100%; height: auto; display: block; margin: 0 auto; }
code { font: .88em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
"""


def best_entry(group: Group) -> Entry | None:
    """The fastest model (real lengths, 1 thread) that keeps 97 % of the baseline's F1, or else within 2 points of the most."""
    known = [e for e in group.entries if "f1_retained" in e.facts and e.facts["bundle_sha256"] != e.facts.get("baseline_sha256")]
    if not known:
        return None
    wanted = min(KEEPS_ENOUGH, max(e.facts["f1_retained"] for e in known) - NEAR_THE_MOST)
    good = [e for e in known if e.facts["f1_retained"] >= wanted and group.speedup(e.at("real", 1))]
    if good:
        return max(good, key=lambda e: group.speedup(e.at("real", 1)) or 0)
    return max(known, key=lambda e: e.facts["f1_retained"])


def baseline_entry(group: Group) -> Entry | None:
    """The model that F1 and speed are compared with."""
    return next((e for e in group.entries if e.facts["bundle_sha256"] == e.facts.get("baseline_sha256")), None)


def headline(group: Group) -> tuple[str, list[tuple[str, str]]]:
    """One sentence, and the figures that carry it as (figure, what it is)."""
    if group.on_phone:
        n_models = len({row["model"] for row in group.rows})
        return f"{n_models} model{'s' if n_models > 1 else ''} on {group.machine}", []
    best, base = best_entry(group), baseline_entry(group)
    if best is None or base is None:
        return f"{len(group.entries)} model{'s' if len(group.entries) > 1 else ''} on {group.data}", []
    teacher, retained, size = base.facts["model"], best.facts["f1_retained"], best.facts["size_bytes"]
    smaller = base.facts["size_bytes"] / size
    cards = [
        (f"{best.facts['f1']:.2f}", f"F1; {teacher} has {base.facts['f1']:.2f}"),
        (f"{retained:.1%}", f"of {teacher}'s F1 retained"),
        (f"{size / 1e6:.1f} MB", f"{smaller:.1f} times smaller than {base.facts['size_bytes'] / 1e6:.1f} MB"),
    ]
    said = [f"{smaller:.1f} times smaller"]
    for lengths, card, words in (
        ("padded", "faster, both padded", "{:.1f} times faster"),
        ("real", f"faster than {teacher} padded, at real lengths", "{:.1f} times with real lengths"),
    ):
        row = best.at(lengths, 1)
        if (faster := group.speedup(row)) is not None:
            cards.append((f"{faster:.1f}x", f"{card}: mean {row['latency_ms_mean']:.1f} ms, 1 thread"))
            said.append(words.format(faster))
    return f"{best.facts['model']} keeps {retained:.1%} of {teacher}'s F1: {', '.join(said)}", cards


def html_table(table: Table, marked: str | None) -> str:
    """A table with its notes; the rows of the model `marked` stand out."""

    def cell(tag: str, column: int, text: str) -> str:
        name = ' class="name"' if column < table.n_left else ""
        return f"<{tag}{name}>{escape(text)}</{tag}>"

    head = "".join(cell("th", column, text) for column, text in enumerate(table.headings))
    lines = []
    for cells in table.cells:
        best = ' class="best"' if cells[0] == marked else ""
        lines.append(f"<tr{best}>{''.join(cell('td', column, text) for column, text in enumerate(cells))}</tr>")
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    body = "\n".join(lines)
    grid = f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll">{grid}</div>\n<ul class="notes">{notes}</ul>'


def conditions(group: Group) -> str:
    """Machine, runtimes, data, date and command, as a list."""
    newest = group.newest
    runtimes = dict.fromkeys(e.facts["runtime"] for e in group.entries if "runtime" in e.facts)
    counted = next((e.facts for e in group.entries if "n_windows" in e.facts), {})
    counts = f", {counted['n']:,} questions in {counted['n_windows']:,} windows" if counted else ""
    facts = [
        ("Machine", group.machine),
        ("Runtimes", ", ".join(runtimes)),
        ("Data", f"{group.data}{counts}, SHA-256 {newest['data']['sha256'][:16]}…"),
        ("Date", newest["date"].replace("T", " ").replace("Z", " UTC")),
    ]
    if any("other_load" in row for e in group.entries for row in e.latency.values()):
        facts.insert(1, ("Other load", f"other processes kept {busy_cores(group):.2f} cores busy while latency was measured"))
    lines = [f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts]
    return f"<dl>{''.join(lines)}<dt>Command</dt><dd><code>{escape(newest['command'])}</code></dd></dl>"


def phone_section(group: Group) -> str:
    """Everything about one phone: what its logs tell, in a table, and the command that read them."""
    parts = [f"<h1>{escape(headline(group)[0])}</h1>", *(html_table(table, None) for table in view_tables([group], "latency"))]
    return "\n".join([*parts, f"<dl><dt>Command</dt><dd><code>{escape(group.newest['command'])}</code></dd></dl>"])


def section(group: Group) -> str:
    """Everything about one group."""
    if group.on_phone:
        return phone_section(group)
    sentence, cards = headline(group)
    best = best_entry(group)
    parts = [
        f"<h1>{escape(sentence)}</h1>",
        f'<p class="soft">Extractive question answering, measured on {escape(str(group.data))}.</p>',
    ]
    parts += [
        '<div class="cards">',
        *(f'<div class="card"><b>{escape(f)}</b><span>{escape(w)}</span></div>' for f, w in cards),
        "</div>",
    ]
    failures = [e for e in group.entries if e.facts["status"] != OK]
    parts += [f'<p class="failed">{escape(e.facts["model"])} failed: {escape(e.facts["status"])}</p>' for e in failures]
    tables = {view: view_tables([group], view) for view in ("summary", "latency")}
    marked = best.facts["model"] if best is not None else None
    parts += ["<h2>Models</h2>", *(html_table(table, marked) for table in tables["summary"])]
    if best is not None:
        enough = f"at least {KEEPS_ENOUGH:.0%} of F1"
        near = f"F1 within {100 * NEAR_THE_MOST:g} points of the most (none retains {KEEPS_ENOUGH:.0%})"
        kept = enough if best.facts["f1_retained"] >= KEEPS_ENOUGH else near
        parts.append(f'<p class="notes">Green: the fastest that retains {kept}.</p>')
    parts.append(plots(group))
    if tables["latency"]:
        parts += ["<h2>Latency in full</h2>", *(html_table(table, marked) for table in tables["latency"])]
    parts += ["<h2>Conditions</h2>", conditions(group)]
    return "\n".join(parts)


def plots(group: Group) -> str:
    """F1 against size and against latency, and latency by setting; what was not measured is left out."""
    figures = []
    by_size = points(group, lambda e: e.facts["size_bytes"] / 1e6)
    by_latency = latency_scatter(group)
    if by_size:
        figures.append(("F1 against size", scatter(by_size, "size of the weights file, MB", "size")))
    if by_latency:
        figures.append(("F1 against latency", by_latency))
    text = "".join(f"<figure><figcaption>{caption}</figcaption>{svg}</figure>\n" for caption, svg in figures)
    text = f'<h2>Trade-offs</h2>\n<div class="plots">\n{text}</div>\n' if figures else ""
    if any(entry.latency for entry in group.entries):
        text += f'<figure class="wide"><figcaption>Latency by lengths and threads</figcaption>{latency_bars(group)}</figure>'
    return text


def render(groups: Sequence[Group]) -> str:
    """The whole page."""
    body = "\n<hr>\n".join(section(group) for group in groups)
    title = escape(headline(groups[0])[0]) if groups else "Nothing measured"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{CSS}</style></head><body>\n{body}\n</body></html>\n"
    )


def write_report(path: Path, groups: Sequence[Group]) -> None:
    """Write the page by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, render(groups))
