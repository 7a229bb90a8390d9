"""Records of questions as SQuAD 2.0: CSV, JSON lines, Parquet and the like, and exports of annotation tools.

Where each answer stands in its context is looked up.
"""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from qa.base.errors import SquadFormatError, first_few
from qa.base.files import write_whole
from qa.data.convert.cells import ANSWERS, NO_ANSWER, Number, Unusable, given_answers, is_empty, is_true
from qa.data.convert.offsets import (
    Counting,
    common_counting,
    first_place,
    is_inside_word,
    occurrences,
    only_place,
    stands_at,
)
from qa.data.convert.report import Report, check_converted, check_out, finish, write
from qa.data.layouts import Record
from qa.data.records import HUB, read_records
from qa.data.squad import Answer, Example, grouped, read_json, unpacked

UNLABELLED = "unlabelled"
NO_WORD = "answer has no letter or digit; leave it empty, or give its answer_start"
DISAGREE = "rows of this question disagree whether there is an answer; keep one"
LONGER_NUMBER = "answer is a number and its context has a longer one; write it as a text, as it stands there"
BOTH = "unanswerable, because is_impossible is true, although they have answers"
NEITHER = "unanswerable, because they have no answer, although is_impossible is false"


@dataclass(frozen=True)
class RowsOptions:
    """Convert records {question, context, answer or answers} to SQuAD 2.0.

    An empty answer says that the context does not answer the question. `answer_start`, `id` and `title` are
    optional. SQuAD JSON, MRQA, and exports of Label Studio and Prodigy are read too.
    """

    file: Positional[str]
    """JSON lines, a JSON list, SQuAD JSON, CSV, TSV, Parquet, a folder of `datasets`, or hub:NAME."""
    out: Path
    """SQuAD 2.0 JSON file to write; OUT.dropped.tsv beside it lists what was left out."""
    split: str = "train"
    """Split of a hub data set or of a folder with several."""
    repair: bool = False
    """Move an answer that is not at its answer_start to its certain place: it occurs once, or all offsets of
    the file fit in one other counting, for example UTF-16 units."""

    def __post_init__(self) -> None:
        check_out(self.out, [] if self.file.startswith(HUB) else [Path(self.file)])


@dataclass(frozen=True, slots=True)
class _Asked:
    """One record that asks: its texts, and the answers that are given; or why it is left out."""

    record: Record
    id: str
    question: str = ""
    context: str = ""
    answers: tuple[tuple[str, int | None], ...] = ()
    kind: str = ""
    fault: Unusable | None = None


def convert(
    file: str, records: list[Record], report: Report, *, repair: bool = False, to_score: bool = False
) -> list[Example]:
    """Return the questions by title and context; records without a usable answer go to `report`.

    With `repair`, answers that are not at their answer_start move to where they certainly are. `to_score`
    moves too, and takes the first place of an answer whose place is not certain: EM and F1 need none.
    """
    asked = [_asked(record) for record in records]
    without = any(one.fault is not None and one.fault.args[0] == NO_ANSWER for one in asked)
    if without and not any(set(ANSWERS) & record.fields.keys() for record in records):
        seen = first_few(sorted({str(name) for record in records for name in record.fields}), most=20)
        raise SquadFormatError(
            f"{file}: no column 'answer' or 'answers'; its columns are {seen}; "
            "give that of the answers one of these names"
        )
    given = [(one.context, text, start) for one in asked for text, start in one.answers if start is not None]
    counting = common_counting(given)
    placed_rows: list[tuple[_Asked, Example]] = []
    seen_ids: set[str] = set()
    for one in asked:
        moved: list[str] = []
        try:
            if one.fault is not None:
                raise one.fault
            if one.id in seen_ids:
                raise Unusable("id occurs twice")
            placed = [
                _place(text, start, one.context, counting, moved, to_score) for text, start in one.answers
            ]
            if moved and not (repair or to_score):
                raise Unusable(
                    f"answer is not at its answer_start, but {moved[0]}; convert rows --repair moves it"
                )
        except Unusable as error:
            report.drop(Path(file), one.record.place, one.id, *error.args)
            continue
        seen_ids.add(one.id)
        report.repaired.update(moved)
        placed_rows.append((one, _example(one, placed)))
    return grouped(_merged(placed_rows, Path(file), report))


def _merged(placed: list[tuple[_Asked, Example]], file: Path, report: Report) -> list[Example]:
    """Return the questions, of which rows without an id that repeat question and context are one.

    It has the answers of all of these rows. Where they disagree whether there is one, all are left out.
    """
    rows: dict[tuple[str, str] | str, list[tuple[_Asked, Example]]] = {}
    for one, example in placed:
        stands_alone = one.record.squad or not is_empty(one.record.fields.get("id"))
        rows.setdefault(one.id if stands_alone else (one.question, one.context), []).append((one, example))
    merged = []
    for same in rows.values():
        asked, example = same[0]
        if len({(bool(other.answers), other.unlabelled) for _, other in same}) > 1:
            for one, _ in same:
                report.drop(file, one.record.place, one.id, DISAGREE)
            continue
        report.converted[asked.kind] += 1
        report.n_repeated += len(same) - 1
        answers = dict.fromkeys(answer for _, other in same for answer in other.answers)
        merged.append(replace(example, answers=tuple(answers)))
    return merged


def _example(one: _Asked, answers: list[Answer]) -> Example:
    title, category, copy_of = (one.record.fields.get(name) for name in ("title", "category", "copy_of"))
    return Example(
        one.id,
        "" if is_empty(title) else str(title),
        one.context,
        one.question,
        tuple(answers),
        is_impossible=not answers and one.kind != UNLABELLED,
        category=None if is_empty(category) else str(category),
        unlabelled=one.kind == UNLABELLED,
        copy_of=None if is_empty(copy_of) else str(copy_of),
    )


def _asked(record: Record) -> _Asked:
    """Return what a record asks, or the first of its cells that is not understood."""
    fields = record.fields
    number = fields.get("id")
    item = record.place.replace(" ", "-") if is_empty(number) else str(number)
    try:
        if record.fault:
            raise Unusable(record.fault)
        question, context = (_text(fields, name) for name in ("question", "context"))
        if not (isinstance(question, str) and question.strip() and isinstance(context, str)):
            raise Unusable("question or context is not a text")
        if not context.strip():
            raise Unusable("context is empty")
        answers, kind = _understood(record)
        return _Asked(record, item, question, context, tuple(answers), kind)
    except Unusable as error:
        return _Asked(record, item, fault=error)


def _text(fields: dict[str, Any], name: str) -> object:
    """Return the cell of a column, or where it is empty that of haystack's name for the column."""
    other = fields.get(f"{name}_text")
    return fields.get(name) if is_empty(other) or not is_empty(fields.get(name)) else other


def _understood(record: Record) -> tuple[list[tuple[str, int | None]], str]:
    """Return a record's answers and the kind of question that it is."""
    fields = record.fields
    if is_true(fields.get("unlabelled"), "unlabelled"):
        return [], UNLABELLED
    if is_true(fields.get("is_impossible"), "is_impossible"):
        with suppress(Unusable):
            return [], BOTH if given_answers(fields) else "unanswerable"
        return [], "unanswerable"
    if answers := given_answers(fields):
        return answers, "answerable"
    return [], "unanswerable" if is_empty(fields.get("is_impossible")) else NEITHER


def _place(
    text: str, start: int | None, context: str, counting: Counting | None, moved: list[str], to_score: bool
) -> Answer:
    """Return the answer at its start: the given one, or its certain place, which `moved` then explains."""
    if start is None and not any(map(str.isalnum, text)):
        raise Unusable(NO_WORD, text)
    place = start
    places = occurrences(context, text) if isinstance(text, Number) else []
    if places and all(is_inside_word(context, text, place) for place in places):
        raise Unusable(LONGER_NUMBER, text)
    if counting is not None and start is not None:
        name, read = counting
        place = read(context, start)
        if place != start:
            moved.append(f"answer_start counts {name}")
    elif start is None or not stands_at(context, text, start):
        place = first_place(context, text.strip()) if to_score else only_place(context, text.strip(), start)
        if start is not None:
            moved.append("it occurs once")
    assert place is not None
    found = text if context.startswith(text, place) else text.strip()
    if isinstance(text, Number) and is_inside_word(context, found, place):
        raise Unusable(LONGER_NUMBER, found)
    return Answer(str(found), place)


def _made_from(file: str, records: list[Record]) -> dict[str, Any] | None:
    """Return the reference of a file of SQuAD JSON, so that its development part is still known as one."""
    path = Path(file)
    if not path.is_file() or not any(record.squad for record in records):
        return None
    reference: dict[str, Any] = {"name": path.name, "sha256": hashlib.sha256(unpacked(path)).hexdigest()}
    with suppress(SquadFormatError):  # JSON lines, which name no file that they were made from
        root = read_json(path)
        reference |= {key: root[key] for key in ("made_from", "added") if key in root}
    return reference


def read_examples(
    file: str, split: str, report: Report, *, repair: bool = False, to_score: bool = False
) -> tuple[list[Example], dict[str, Any] | None]:
    """Return what `convert` makes of a file's records, and the reference of the file if it is SQuAD JSON."""
    records = read_records(file, split)
    return convert(file, records, report, repair=repair, to_score=to_score), _made_from(file, records)


def convert_rows(options: RowsOptions) -> Report:
    """Read, convert, write and print the counts."""
    report = Report()
    examples, made_from = read_examples(options.file, options.split, report, repair=options.repair)
    return finish(options.out, examples, report, made_from)


def convert_silently(path: Path, out: Path, split: str, *, to_score: bool) -> None:
    """Convert as `convert_rows` does, or `to_score` as `convert` does, and print nothing.

    What may surprise is written beside `out`, to be said by every command that reads it.
    """
    report = Report()
    examples, made_from = read_examples(str(path), split, report, to_score=to_score)
    check_converted(report, f"{path}:")
    odd = [
        f"{report.converted[kind]:,} questions are {kind}"
        for kind in (BOTH, NEITHER)
        if report.converted[kind]
    ]
    write_whole(notes_path(out), "".join(f"{line}\n" for line in odd))
    write(out, examples, report, made_from)


def notes_path(out: Path) -> Path:
    """Return the file of what is odd in a converted file."""
    return out.with_name(f"{out.name}.notes")
