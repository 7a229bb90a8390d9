"""What a conversion did: counts of what it made, and every item it left out, with its place and the
reason.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qa.base.errors import SquadFormatError
from qa.base.files import check_not_an_input, check_writable, write_whole
from qa.data.squad import write_squad

LOG_SUFFIX = ".dropped.tsv"


@dataclass(frozen=True, slots=True)
class Dropped:
    """One item that was left out: file, row (a line number, or a path inside JSON), what it is, why, and what
    was seen."""

    file: Path
    row: str
    item: str
    reason: str
    detail: str = ""


@dataclass
class Report:
    """Counts of converted questions by kind, and the items left out."""

    converted: Counter[str] = field(default_factory=Counter)
    dropped: list[Dropped] = field(default_factory=list)

    def drop(self, file: Path, row: int | str, item: str, reason: str, detail: str = "") -> None:
        """Note an item that is left out."""
        self.dropped.append(Dropped(file, str(row), item, reason, detail))

    def dropped_by_reason(self) -> Counter[str]:
        """How many items were left out for each reason."""
        return Counter(d.reason for d in self.dropped)

    def table(self, out: Path) -> str:
        """Both counts as lines of text."""
        lines = []
        for title, counts in (
            (f"questions converted to {out}", self.converted),
            (f"items dropped, see {log_path(out)}", self.dropped_by_reason()),
        ):
            lines.append(f"{counts.total():8,}  {title}")
            lines += [
                f"{n:8,}    {kind}"
                for kind, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            ]
        return "\n".join(lines)


def log_path(out: Path) -> Path:
    """Where the items left out are listed."""
    return out.with_name(out.name + LOG_SUFFIX)


def tsv(rows: list[tuple[object, ...]]) -> str:
    """Rows as tab-separated lines; white space inside a cell becomes single spaces, so that a row stays a
    line."""
    return "".join("\t".join(" ".join(str(cell).split()) for cell in row) + "\n" for row in rows)


def check_out(out: Path, inputs: list[Path]) -> None:
    """Raise OptionError unless the result and its log can be written, and neither is an input."""
    for path in (out, log_path(out)):
        check_writable(path, "--out")
        check_not_an_input(path, "--out", inputs)


def finish(out: Path, articles: list[dict[str, Any]], version: str, report: Report) -> None:
    """Write the log and the data, and print the table. Raises SquadFormatError when no question is left."""
    if not report.converted:
        reasons = (
            ", ".join(f"{reason} ({n})" for reason, n in report.dropped_by_reason().most_common())
            or "no questions given"
        )
        raise SquadFormatError(f"{out}: not written, because no question could be converted: {reasons}")
    log = log_path(out)
    columns = ("file", "row", "item", "reason", "detail")
    write_whole(log, tsv([columns, *((d.file, d.row, d.item, d.reason, d.detail) for d in report.dropped)]))
    try:
        write_squad(out, articles, version)
    except BaseException:
        log.unlink(missing_ok=True)
        raise
    print(report.table(out))
