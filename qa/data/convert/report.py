"""Report of a conversion: counts of results, and every dropped item with its place and the reason."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from qa.base.errors import SquadFormatError, first_few
from qa.base.files import check_new_file, check_not_an_input
from qa.base.next_step import say_next_training
from qa.data.squad import Example, check_new_squad, write_squad

LOG_SUFFIX = ".dropped.tsv"


class Dropped(NamedTuple):
    """Dropped item: file, row (a line number, or a path inside JSON), what it is, reason, content."""

    file: Path
    row: str
    item: str
    reason: str
    detail: str = ""


@dataclass
class Report:
    """Counts of converted questions by kind, and the dropped items."""

    converted: Counter[str] = field(default_factory=Counter)
    dropped: list[Dropped] = field(default_factory=list)
    repaired: Counter[str] = field(default_factory=Counter)
    """Counts of answers that were moved, by how their place was known."""
    n_repeated: int = 0
    """Number of rows that are one question with an earlier row."""

    def drop(self, file: Path, row: int | str, item: str, reason: str, detail: str = "") -> None:
        """Record a dropped item."""
        self.dropped.append(Dropped(file, str(row), item, reason, detail))

    def dropped_by_reason(self) -> Counter[str]:
        """Return the number of dropped items by reason."""
        return Counter(d.reason for d in self.dropped)

    def table(self, out: Path) -> str:
        """Return the counts as lines of text."""
        lines = []
        for title, counts in (
            (f"questions converted to {out}", self.converted),
            ("answers moved", self.repaired),
            (f"items dropped, see {log_path(out)}", self.dropped_by_reason()),
        ):
            if counts is self.repaired and not counts:
                continue
            lines.append(f"{counts.total():8,}  {title}")
            lines += [
                f"{n:8,}    {kind}"
                for kind, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            ]
        if self.n_repeated:
            lines.append(f"{self.n_repeated:8,}  rows repeat a question and its context, and are one with it")
        return "\n".join(lines)


def log_path(out: Path, suffix: str = LOG_SUFFIX) -> Path:
    """Return the path of a list beside the result: by default of the dropped items."""
    return Path(f"{out}{suffix}")


def tsv(rows: list[tuple[object, ...]]) -> str:
    """Return rows as tab-separated lines; white space inside a cell becomes single spaces."""
    return "".join("\t".join(" ".join(str(cell).split()) for cell in row) + "\n" for row in rows)


def check_out(out: Path, inputs: list[Path], suffix: str = LOG_SUFFIX) -> None:
    """Raise OptionError unless the result and its log can be written, and neither is an input."""
    check_new_squad(out, "--out")
    check_new_file(log_path(out, suffix), "--out")
    for path in (out, log_path(out, suffix)):
        check_not_an_input(path, "--out", inputs)


def check_converted(report: Report, where: str) -> None:
    """Raise SquadFormatError, which begins with `where`, when no question could be converted."""
    if not report.converted:
        counts = report.dropped_by_reason().most_common()
        reasons = [f"{reason} ({n})" for reason, n in counts]
        firsts = [next(d for d in report.dropped if d.reason == reason) for reason, _ in counts]
        seen = [" ".join(f"{d.row} {d.detail}".split())[:80] for d in firsts]
        raise SquadFormatError(
            f"{where} no question could be converted: {', '.join(reasons) or 'no questions given'}"
            + (f"; for example {first_few(seen)}" if seen else "")
        )


def write(
    out: Path, examples: list[Example], report: Report, made_from: dict[str, Any] | None = None
) -> None:
    """Write the data and the log. Raises SquadFormatError when no question is left."""
    check_converted(report, f"{out}: not written, because")
    write_squad(out, examples, made_from, (log_path(out), tsv([Dropped._fields, *report.dropped])))


def finish(
    out: Path, examples: list[Example], report: Report, made_from: dict[str, Any] | None = None
) -> Report:
    """Write the data and the log as `write` does, print the table and the next command, return the report."""
    write(out, examples, report, made_from)
    print(report.table(out))
    say_next_training(out)
    return report
