"""Flat records of questions as SQuAD 2.0: where each answer stands in its context is looked up."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from qa.data.convert.report import Report, check_out, finish, write
from qa.data.records import HUB, Record, read_records

VERSION = "v2.0"


@dataclass(frozen=True)
class RowsOptions:
    """Convert flat records {question, context, answer or answers} to SQuAD 2.0.

    An empty answer says that the context does not answer the question. `answer_start`, `id` and `title` are
    optional.
    """

    file: Positional[str]
    """JSON lines, a JSON list, CSV, TSV, Parquet, a folder of `datasets`, or hub:NAME."""
    out: Path
    """SQuAD 2.0 JSON file to write; OUT.dropped.tsv beside it lists what was left out."""
    split: str = "train"
    """Split of a hub data set or of a folder with several."""

    def __post_init__(self) -> None:
        check_out(self.out, [] if self.file.startswith(HUB) else [Path(self.file)])


class _Unplaced(Exception):
    """An answer that is at no certain place; its arguments are the reason and what was seen."""


def convert(
    file: str, records: list[Record], report: Report, *, to_score: bool = False
) -> list[dict[str, Any]]:
    """Return SQuAD articles, one a title; records without a usable answer go to `report`.

    `to_score` takes the first of several places of an answer: a score needs none.
    """
    articles: dict[str, dict[str, dict[str, Any]]] = {}
    seen: set[str] = set()
    for record in records:
        question = record.fields.get("question")
        context = record.fields.get("context")
        number = record.fields.get("id")
        item = str(number if number not in (None, "") else record.place.replace(" ", "-"))
        title = record.fields.get("title") or ""
        if not (isinstance(question, str) and question.strip() and isinstance(context, str)):
            report.drop(Path(file), record.place, item, "question or context is not a text")
            continue
        if item in seen:
            report.drop(Path(file), record.place, item, "id occurs twice")
            continue
        try:
            given = list(_given(record.fields))
            placed = [_place(text, start, context, to_score=to_score) for text, start in given]
        except _Unplaced as error:
            report.drop(Path(file), record.place, item, *error.args)
            continue
        seen.add(item)
        report.converted["answerable" if placed else "unanswerable"] += 1
        answers = [{"text": text, "answer_start": start} for text, start in placed]
        entry = {"id": item, "question": question, "answers": answers, "is_impossible": not placed}
        paragraphs = articles.setdefault(str(title), {})
        paragraphs.setdefault(context, {"context": context, "qas": []})["qas"].append(entry)
    return [{"title": title, "paragraphs": list(found.values())} for title, found in articles.items()]


def _given(fields: dict[str, Any]) -> Iterator[tuple[str, int | None]]:
    """Yield the answers of a record with their starts, None where none is given."""
    if fields.get("is_impossible") in (True, 1, "true", "True", "1"):
        return
    column = next((name for name in ("answers", "answer") if name in fields), None)
    if column is None:
        raise _Unplaced("no answer given; an empty one means that there is none")
    value = fields[column]
    starts = fields.get("answer_start")
    if isinstance(value, dict):  # as the hub's SQuAD: {"text": [...], "answer_start": [...]}
        starts = value.get("answer_start", starts)
        value = value.get("text")
    if value in (None, "", []):
        return
    texts = value if isinstance(value, list) else [value]
    starts = starts if isinstance(starts, list) else [starts] * len(texts)
    if len(starts) != len(texts):
        raise _Unplaced("as many answer_start as answers are needed", f"{len(starts)} for {len(texts)}")
    for text, start in zip(texts, starts, strict=True):
        if isinstance(text, dict):
            yield _answer(text.get("text"), text.get("answer_start"))
        else:
            yield _answer(text, start)


def _answer(text: object, start: object) -> tuple[str, int | None]:
    if not isinstance(text, str) or not text.strip():
        raise _Unplaced("answer is not a text", repr(text))
    if isinstance(start, str) and start.strip().isdecimal():  # a cell of a table
        start = int(start)
    return text, start if isinstance(start, int) and start >= 0 else None


def _place(text: str, start: int | None, context: str, *, to_score: bool) -> tuple[str, int]:
    """Return the answer and its start: the given one where the text is there, else its only occurrence.

    The first occurrence does where answers are only scored.
    """
    if start is not None and context[start : start + len(text)] == text:
        return text, start
    text = text.strip()
    first = context.find(text)
    if first < 0:
        raise _Unplaced("answer does not occur in its context", text)
    if not to_score and context.find(text, first + 1) >= 0:
        raise _Unplaced("answer occurs several times; give answer_start", text)
    return text, first


def convert_rows(options: RowsOptions) -> Report:
    """Read, convert, write and print the counts."""
    report = Report()
    articles = convert(options.file, read_records(options.file, options.split), report)
    return finish(options.out, articles, VERSION, report)


def convert_silently(path: Path, out: Path, split: str, *, to_score: bool) -> None:
    """Convert as `convert_rows` does, or `to_score` as `convert` does, and print nothing."""
    report = Report()
    articles = convert(str(path), read_records(str(path), split), report, to_score=to_score)
    write(out, articles, VERSION, report)
