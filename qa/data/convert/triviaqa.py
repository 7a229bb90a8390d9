"""TriviaQA (Joshi et al. 2017), the reading comprehension version: its published JSON and evidence files as
SQuAD 2.0.

The questions say what the answer is, in many spellings, not where it stands. As in the paper's distant
supervision, every pair of a question and an evidence document becomes one SQuAD question,
`QuestionId--Filename`, whose answer is the first place in the document where any alias stands: word by word,
whatever the case and the punctuation between the words; of aliases that begin at the same place, the longest.
Only the first words of a document are kept (800 by default, as in the authors' own training), and a pair
without an alias there is dropped, not called unanswerable: the rest of the document may answer it.

One answer is given, for training. TriviaQA's own evaluation accepts every alias, so scores on a converted
file lie below its.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, pairwise, product
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec

from qa.base.cli import check_option
from qa.base.errors import SquadFormatError
from qa.data.convert.report import Report, check_out, finish
from qa.data.squad import Answer, Example, grouped, read_json

FOLDERS = ("wikipedia", "web")  # of the evidence

_WORD = re.compile(r"[^\W_]+")
_GAP = re.compile(r"[^\n]{1,3}")  # between the words of one alias: "St. Louis", "T-shirt", but not two lines

Place = tuple[int, int]


@dataclass(frozen=True)
class TriviaQAOptions:
    """Convert a question file of TriviaQA (wikipedia-train.json, web-dev.json, ...) to SQuAD 2.0."""

    questions: Path
    """Question file, from the folder qa of triviaqa-rc.tar.gz."""
    evidence: Path
    """Folder evidence of the same archive, with the folders wikipedia and web inside."""
    out: Path
    """SQuAD 2.0 JSON file to write; OUT.dropped.tsv beside it lists what was left out."""
    max_words: int = 800
    """Words of each document that are kept, from its beginning."""

    def __post_init__(self) -> None:
        check_option(self.max_words >= 1, "--max-words", self.max_words, "at least 1")
        found = self.evidence.is_dir() and any((self.evidence / folder).is_dir() for folder in FOLDERS)
        check_option(found, "--evidence", self.evidence, "a folder that holds the folders wikipedia or web")
        check_out(self.out, [self.questions])


def words_of(text: str) -> list[tuple[str, int, int]]:
    """Return (word in lower case, start, end) of every run of letters and digits."""
    return [(m[0].lower(), m.start(), m.end()) for m in _WORD.finditer(text)]


def first_words(text: str, n: int) -> str:
    """Return the text up to the end of its n-th word, words parted by white space."""
    for i, match in enumerate(re.finditer(r"\S+", text), 1):
        if i == n:
            return text[: match.end()]
    return text


def first_mention(aliases: Iterable[str], context: str, words: list[tuple[str, int, int]]) -> Place | None:
    """Return (start, end) of the first alias in the context, whose words are `words`; None without one."""
    wanted: dict[str, set[tuple[str, ...]]] = {}
    for alias in aliases:
        if parts := tuple(word for word, _, _ in words_of(alias)):
            wanted.setdefault(parts[0], set()).add(parts)
    for i, (word, start, _) in enumerate(words):
        for parts in sorted(wanted.get(word, ()), key=len, reverse=True):
            found = words[i : i + len(parts)]
            gaps = (context[a[2] : b[1]] for a, b in pairwise(found))
            if tuple(w for w, _, _ in found) == parts and all(map(_GAP.fullmatch, gaps)):
                return start, found[-1][2]
    return None


@cache
def _names(folder: Path) -> dict[str, str]:
    """Map a folder's file names without case and composition of accents to the real names."""
    return {_plain(name): name for name in os.listdir(folder)} if folder.is_dir() else {}


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).lower()


def find_evidence(folder: Path, name: str) -> Path | None:
    """Return the evidence file of a name; published names differ from the files' in case and accents."""
    path = folder / name
    if not path.is_file():
        path = path.with_name(_names(path.parent).get(_plain(path.name), path.name))
    return path if path.is_file() else None


class Names(msgspec.Struct, rename="pascal"):
    """Spellings of an answer."""

    value: str
    aliases: list[str] = []
    normalized_aliases: list[str] = []
    human_answers: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return chain([self.value], self.aliases, self.normalized_aliases, self.human_answers)


class Page(msgspec.Struct, rename="pascal"):
    """Document that may hold an answer."""

    filename: str
    doc_part_of_verified_eval: bool = True


class Question(msgspec.Struct, rename="pascal"):
    """Question with its documents; a test file has no answers."""

    question_id: str
    question: str
    answer: Names | None = None
    entity_pages: list[Page] = []
    search_results: list[Page] = []
    question_part_of_verified_eval: bool = True


class QuestionFile(msgspec.Struct, rename="pascal"):
    """Question file as published; each of its records is a Question."""

    data: Annotated[list[Any], msgspec.Meta(min_length=1)]
    verified_eval: bool = False


def read_pairs(path: Path, report: Report) -> Iterator[tuple[str, Question, Names, str, str]]:
    """Yield each question of a file with its place there, its answer, and a document's folder and name.

    What is not used goes to `report`.

    SquadFormatError for a file that is no list of questions.
    """
    try:
        file = msgspec.convert(read_json(path, "TriviaQA"), QuestionFile)
    except msgspec.ValidationError as error:
        raise SquadFormatError(f"{path}: not a question file of TriviaQA ({error})") from None
    for i, record in enumerate(file.data):
        row = f"Data[{i}]"
        try:
            asked = msgspec.convert(record, Question)
        except msgspec.ValidationError as error:
            qid = record.get("QuestionId", "") if isinstance(record, dict) else ""
            report.drop(path, row, str(qid), "question is not as TriviaQA writes it", str(error))
            continue
        qid = asked.question_id
        row = f"{row} {qid}"
        pages = [*product(["wikipedia"], asked.entity_pages), *product(["web"], asked.search_results)]
        if asked.answer is None:
            report.drop(path, row, qid, "question has no 'Answer', as in a test file", asked.question)
            continue
        if file.verified_eval and not asked.question_part_of_verified_eval:
            report.drop(path, row, qid, "question is not part of the verified set")
            continue
        if not pages:
            report.drop(path, row, qid, "question has no document")
        for folder, page in pages:
            named = PurePosixPath(page.filename)
            if named.is_absolute() or ".." in named.parts or "\0" in page.filename:
                report.drop(path, row, page.filename, "document's name leads out of the evidence folder")
            elif file.verified_eval and not page.doc_part_of_verified_eval:
                report.drop(path, row, page.filename, "document is not part of the verified set")
            else:
                yield row, asked, asked.answer, folder, page.filename


def convert(options: TriviaQAOptions, report: Report) -> list[Example]:
    """Return the questions that their documents answer, by document."""
    examples = []
    seen: set[str] = set()
    for row, asked, answer, folder, filename in read_pairs(options.questions, report):
        pair_id = f"{asked.question_id}--{filename}"
        drop = partial(report.drop, options.questions, row, filename)
        if pair_id in seen:
            drop("question and document listed twice")
            continue
        seen.add(pair_id)
        path = find_evidence(options.evidence / folder, filename)
        if path is None:
            drop("document is missing", asked.question)
            continue
        try:
            context = first_words(path.read_bytes().decode("utf-8-sig"), options.max_words)
        except UnicodeDecodeError as error:
            drop("document is not UTF-8", f"byte {error.start}")
            continue
        place = first_mention(answer, context, words_of(context))
        if place is None:
            drop(f"no alias in the document's first {options.max_words:,} words", asked.question)
            continue
        start, end = place
        title = str(PurePosixPath(filename).with_suffix(""))
        found = (Answer(context[start:end], start),)
        examples.append(Example(pair_id, title, context, asked.question, found, is_impossible=False))
        report.converted[f"with a document from {folder}"] += 1
    return grouped(examples)


def convert_triviaqa(options: TriviaQAOptions) -> Report:
    """Convert every pair, write the file and its log, and print the counts."""
    report = Report()
    return finish(options.out, convert(options, report), report)
