"""SQuAD 1.1 and 2.0 JSON, plain or gzip, read into examples; errors name the place of the fault."""

import gzip
import io
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from qa.base.cli import check_option
from qa.base.errors import SquadFormatError, first_few
from qa.base.files import check_new_file, write_whole

MOST_UNPACKED = 4_000_000_000  # bytes: a small file can unpack to any number
UNPACKED_AT_ONCE = 1_000_000
TABLES = (".csv", ".tsv")
RECORD_SUFFIXES = (".jsonl", ".parquet", *TABLES)  # by which a file is read as records
HIGH, LOW = r"\\u[dD][89abAB][\da-fA-F]{2}", r"\\u[dD][c-fC-F]"
ESCAPED_HALF_PAIR = re.compile(f"{HIGH}(?!{LOW})|(?<!{HIGH}){LOW}")


@dataclass(frozen=True, slots=True)
class Answer:
    """One human answer: its text and where it starts in the context, in characters (code points)."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Example:
    """One question on one passage. `answers` is empty when `is_impossible`; `category` is a data set's own
    sort of question."""

    id: str
    title: str
    context: str
    question: str
    answers: tuple[Answer, ...]
    is_impossible: bool
    category: str | None = None
    unlabelled: bool = False
    """True where nobody has said whether and where the passage answers it; `answers` is then empty."""
    copy_of: str | None = None
    """Id of the question that this one is a copy of: typed in another way, or on a noisy passage."""

    @property
    def article(self) -> str:
        """Return the title, or the passage where there is none."""
        return self.title or self.context


def articles_of(examples: Sequence[Example]) -> list[str]:
    """Return what each question is held out and drawn with: its article, or a passage of several titles."""
    titles: dict[str, set[str]] = {}
    for e in examples:
        titles.setdefault(e.context, set()).add(e.title)
    return [e.context if len(titles[e.context]) > 1 else e.article for e in examples]


def unpacked_suffix(path: Path) -> str:
    """Return the suffix in small letters, that before .gz of a packed file."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def unpacked(path: Path) -> bytes:
    """Return a file's content, unpacked where it is gzip, which the content tells and not the name."""
    raw = path.read_bytes()
    if raw[:2] != b"\x1f\x8b":
        return raw
    try:
        content = io.BytesIO()
        stream = gzip.GzipFile(fileobj=io.BytesIO(raw))
        while content.tell() <= MOST_UNPACKED and (block := stream.read(UNPACKED_AT_ONCE)):
            content.write(block)
    except (OSError, EOFError, zlib.error) as error:
        raise SquadFormatError(f"{path}: broken gzip ({error}); copy or download it again") from None
    if content.tell() > MOST_UNPACKED:
        raise SquadFormatError(f"{path}: holds more than {MOST_UNPACKED / 1e9:.0f} GB; unpack and part it")
    return content.getvalue()


def read_json(path: Path, kind: str = "SQuAD") -> Any:
    """Parse a JSON file, gzip or plain; errors ask for a file of this `kind`."""
    if not path.is_file():
        raise SquadFormatError(f"{path}: no such file; give a {kind} JSON file, plain or gzip")
    raw = unpacked(path)
    if not raw:
        raise SquadFormatError(f"{path}: the file is empty; give a {kind} JSON file, plain or gzip")
    is_zip = raw[:2] == b"PK"
    try:
        text = raw.decode(json.detect_encoding(raw))  # json.loads would let raw surrogates pass
        del raw  # a large file is in memory often enough
        root = json.loads(text)
        if ESCAPED_HALF_PAIR.search(text):  # or a text that looks like one
            json.dumps(root, ensure_ascii=False).encode()
        return root
    except UnicodeDecodeError:
        if is_zip:
            raise SquadFormatError(f"{path}: is a zip or Excel file; save its table as CSV") from None
        raise SquadFormatError(f"{path}: not UTF-8 text; give a {kind} JSON file, plain or gzip") from None
    except json.JSONDecodeError as error:
        raise SquadFormatError(
            f"{path}: not valid JSON at line {error.lineno}, column {error.colno} ({error.msg}); give a "
            f"{kind} JSON file, whole"
        ) from None
    except (ValueError, RecursionError) as error:  # half a surrogate pair; more than Python can hold
        raise SquadFormatError(f"{path}: not valid JSON ({error}); correct it") from None


def read_squad(path: Path, *, unlabelled: bool = False) -> list[Example]:
    """Read every question of a SQuAD file.

    Contexts are shared between the examples of a paragraph. A whole number is an id as its text is. Raises
    SquadFormatError that names every article, paragraph and question with a wrong schema, an answer that is
    empty or not at its offset, or an id that occurs twice. A question without a label is an error unless
    `unlabelled` allows it.
    """
    examples: list[Example] = []
    faults: list[tuple[str, SquadFormatError]] = []
    overruled: Counter[str] = Counter()
    seen: set[str] = set()
    for where, title, context, entry in _questions(path, faults):
        qid = entry.get("id") if isinstance(entry, dict) else None
        with noted(faults, where if qid is None else str(qid)):
            example = _read_question(entry, title, context, where)
            if example.id in seen:
                raise SquadFormatError(
                    f"{where}: question id {example.id!r} occurs twice; ids must be unique"
                )
            if example.is_impossible and _has_answers(entry):
                overruled["with is_impossible true have answers"] += 1
            elif example.is_impossible and _says_answerable(entry):
                overruled["with is_impossible false have no answer"] += 1
            seen.add(example.id)
            examples.append(example)
    if faults:
        others = first_few(
            [place.removeprefix(f"{path}: ").replace(",", "") for place, _ in faults[1:]], most=20
        )
        also = f"; also faulty: {others}" if others else ""
        raise SquadFormatError(
            f"{faults[0][1]}{also}; python -m qa.data.convert rows converts what it can and lists the rest"
        )
    without_label = [example.id for example in examples if example.unlabelled]
    if without_label and not unlabelled:
        raise SquadFormatError(
            f"{path}: {len(without_label):,} questions are unlabelled: {first_few(without_label)}; only "
            "training with a teacher takes such questions"
        )
    if not examples:
        raise SquadFormatError(f"{path}: no questions at all; expected data[].paragraphs[].qas[]")
    for what, n in overruled.items():
        print(f"{path}: {n:,} questions {what}; they count as unanswerable", file=sys.stderr)
    return examples


def read_originals(path: Path) -> list[Example]:
    """Read the questions of a SQuAD file without copies, as `read_squad` does; SquadFormatError for copies.

    A copy made of a copy, or one without its original, could not be held out of training with it.
    """
    examples = read_squad(path)
    if copies := [example.id for example in examples if example.copy_of is not None]:
        raise SquadFormatError(
            f"{path}: {len(copies):,} questions are copies with answers: {first_few(copies)}; give the file "
            "that they were made from"
        )
    return examples


@contextmanager
def noted(faults: list[tuple[str, SquadFormatError]], place: str) -> Iterator[None]:
    """Note an error inside the block, with its place, and go on after the block."""
    try:
        yield
    except SquadFormatError as error:
        faults.append((place, error))


def _questions(
    path: Path, faults: list[tuple[str, SquadFormatError]]
) -> Iterator[tuple[str, str, str, object]]:
    """Yield each question with its place, title and context; note parts that have no questions."""
    root = read_json(path)
    with noted(faults, "the file"):
        for a, article in enumerate(_list(root, "data", str(path))):
            where = f"{path}: article {a}"
            with noted(faults, where):
                titled = isinstance(article, dict) and article.get("title") is not None
                title = _text(article, "title", where) if titled else ""
                for p, paragraph in enumerate(_list(article, "paragraphs", f"{where} {title!r}")):
                    place = f"{where} {title!r}, paragraph {p}"
                    with noted(faults, place):
                        context = _text(paragraph, "context", place)
                        for q, entry in enumerate(_list(paragraph, "qas", place)):
                            yield f"{place}, question {q}", title, context, entry


def _read_question(entry: object, title: str, context: str, where: str) -> Example:
    qid = _id(entry, "id", where)
    where = f"{where}, id {qid!r}"
    assert isinstance(entry, dict)  # _id has seen that it is one
    impossible = entry.get("is_impossible", False)
    if not isinstance(impossible, bool):
        raise SquadFormatError(f"{where}: 'is_impossible' must be true or false, got {impossible!r}")
    without_label = entry.get("unlabelled", False)
    if not isinstance(without_label, bool):
        raise SquadFormatError(f"{where}: 'unlabelled' must be true or false, got {without_label!r}")
    answers = []
    for item in [] if impossible or without_label else _list(entry, "answers", where):
        text = _text(item, "text", where)
        start = item.get("answer_start")
        if not isinstance(start, int) or isinstance(start, bool):
            raise SquadFormatError(f"{where}: 'answer_start' must be a whole number, got {start!r}")
        if not text.strip():
            raise SquadFormatError(
                f"{where}: an answer is empty; a question without an answer has no answers"
            )
        found = context[start : start + len(text)] if start >= 0 else ""
        if found != text:
            raise SquadFormatError(
                f"{where}: answer {text!r} is not at offset {start} of its context (found {found!r}); "
                "correct answer_start"
            )
        answers.append(Answer(text, start))
    category = entry.get("category")
    if category is not None and not isinstance(category, str):
        raise SquadFormatError(f"{where}: 'category' must be a text where there is one, got {category!r}")
    copy_of = None if entry.get("copy_of") is None else _id(entry, "copy_of", where)
    question = _text(entry, "question", where)
    impossible |= not (answers or without_label)
    return Example(
        qid, title, context, question, tuple(answers), impossible, category, without_label, copy_of
    )


def _has_answers(entry: object) -> bool:
    """Return whether a question lists answers with a text."""
    answers = entry.get("answers") if isinstance(entry, dict) else None
    return isinstance(answers, list) and any(isinstance(one, dict) and one.get("text") for one in answers)


def _says_answerable(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("is_impossible") is False


def _id(owner: object, key: str, where: str) -> str:
    """Return an id; annotation tools write whole numbers."""
    number = owner.get(key) if isinstance(owner, dict) else None
    if isinstance(number, int) and not isinstance(number, bool):
        return str(number)
    return _text(owner, key, where)


def _list(owner: object, key: str, where: str) -> list[Any]:
    if not isinstance(owner, dict) or not isinstance(owner.get(key), list):
        raise SquadFormatError(f"{where}: expected an object with a list {key!r}, as in SQuAD JSON")
    return owner[key]


def _text(owner: object, key: str, where: str) -> str:
    if not isinstance(owner, dict) or not isinstance(owner.get(key), str):
        raise SquadFormatError(f"{where}: expected a text {key!r}, as in SQuAD JSON")
    return owner[key]


def grouped(examples: Iterable[Example]) -> list[Example]:
    """Return the questions by article and passage, both in the order in which they first occur."""
    articles: dict[str, dict[str, list[Example]]] = {}
    for e in examples:
        articles.setdefault(e.title, {}).setdefault(e.context, []).append(e)
    return [e for passages in articles.values() for same in passages.values() for e in same]


def check_new_squad(path: Path, flag: str) -> None:
    """Raise OptionError unless `write_squad` can write `path`, and its name is not that of records."""
    check_option(unpacked_suffix(path) not in RECORD_SUFFIXES, flag, path, "a name in .json")
    check_new_file(path, flag)


def write_squad(
    path: Path,
    examples: Iterable[Example],
    made_from: dict[str, Any] | None = None,
    log: tuple[Path, str] | None = None,
    added: Sequence[dict[str, Any]] = (),
) -> None:
    """Write questions as SQuAD JSON, in their order, packed in .gz; what `read_squad` refuses is not kept.

    `made_from` is the reference (qa.data.datasets.source_reference) of the file whose questions these are.
    `added` are the references of files whose questions follow.
    `log` is a second file with its text, written only when the questions have been read back.
    """

    def check(partial: Path) -> None:
        read_squad(partial, unlabelled=True)
        if log is not None:
            write_whole(*log)

    raw = squad_json(examples, made_from, added)
    write_whole(path, gzip.compress(raw, mtime=0) if path.suffix.lower() == ".gz" else raw, check)


def squad_json(
    examples: Iterable[Example],
    made_from: dict[str, Any] | None = None,
    added: Sequence[dict[str, Any]] = (),
) -> bytes:
    """Return questions as SQuAD JSON; those that follow each other share their article and passage."""
    articles = [
        {
            "title": title,
            "paragraphs": [
                {"context": context, "qas": list(map(_entry, same))}
                for context, same in groupby(article, lambda e: e.context)
            ],
        }
        for title, article in groupby(examples, lambda e: e.title)
    ]
    sources = {"made_from": made_from, "added": list(added)}
    known = {key: value for key, value in sources.items() if value}
    return json.dumps({"version": "v2.0", **known, "data": articles}, ensure_ascii=False).encode()


def _entry(e: Example) -> dict[str, Any]:
    answers = [{"text": a.text, "answer_start": a.start} for a in e.answers]
    entry = {"id": e.id, "question": e.question, "answers": answers, "is_impossible": e.is_impossible}
    more = {"category": e.category, "copy_of": e.copy_of, "unlabelled": e.unlabelled or None}
    return entry | {name: value for name, value in more.items() if value is not None}


def read_predictions(path: Path) -> dict[str, str]:
    """Read a prediction file in the official format, one JSON object {question id: answer text}."""
    predictions = read_json(path, "prediction")
    if not isinstance(predictions, dict):
        raise SquadFormatError(f"{path}: expected one JSON object of question id -> answer text")
    faulty = [qid for qid, text in predictions.items() if not isinstance(text, str)]
    if faulty:
        raise SquadFormatError(
            f"{path}: the answer to {first_few(faulty)} must be a text, got {predictions[faulty[0]]!r:.60}"
        )
    return predictions
