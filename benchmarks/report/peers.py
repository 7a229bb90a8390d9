"""Where we stand against what other tools make of the same model, as a section of the page."""

from benchmarks.report.html import text
from benchmarks.report.tables import plain_table
from benchmarks.views.groups import Group
from benchmarks.views.peers import peers_table
from benchmarks.views.standing import overall_verdict, standings


def peers_section(group: Group, where: str) -> str:
    """The verdict in its first line, then a table for each length; empty where no peer can be compared.

    `where` is HTML that names the group in the heading.
    """
    found = standings(group)
    if not found:
        return ""
    parts = [f"<h2>Against other tools{where}</h2>\n<p><strong>{text(overall_verdict(found))}.</strong></p>\n"]
    said: set[str] = set()  # what all tables say stands once
    for standing in found:
        table = peers_table(group, standing)
        notes = "".join(f"<li>{text(note)}</li>" for note in table.notes if note not in said)
        said.update(table.notes)
        title = f"{standing.where[0].upper()}{standing.where[1:]}, what was made of {standing.made_from}"
        parts.append(f'<h3>{text(title)}</h3>\n{plain_table(table)}\n<ul class="notes">{notes}</ul>\n')
    return f"<section>{''.join(parts)}</section>\n"
