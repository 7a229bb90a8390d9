"""OLP, football reports with questions, in the layout of Preite 2020 (4.2.3 and appendix B), as SQuAD 2.0.

An article is three tables of one name: its tokens, its questions, and its annotations (spans of the text,
each for the question that its ClassType names). The text is rebuilt from the tokens' character offsets.

The Answer column says what the answer is, an annotation where the text says it; SQuAD wants the words of the
text. So an answer is looked for inside the annotations of its question, first as written, then as a score
with another sign (1:0 as 1-0) or as a name of two words turned round (Murillo Elkin as Elkin Murillo), both
of which appendix B shows. A question without annotations may have its answer anywhere, if the text has it
exactly once. Any other answerable question is dropped: a wrong span would be learnt, and calling it
unanswerable would be wrong.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from qa.base.errors import OptionError, SquadFormatError, first_few
from qa.data.convert.report import Report, check_out, finish
from qa.data.convert.santo import Row, RowError, read_table
from qa.data.squad import Answer, Example, noted

_SPAN = ("DocCharOnset(incl)", "DocCharOffset(excl)", "Text")
TOKEN_COLUMNS = ("DocID", "SentenceNr", *_SPAN)
QUESTION_COLUMNS = ("Q_ID", "Answerable", "Question", "Answer")
OTHER_NAMES = {"Question": "Question text"}
ANNOTATION_COLUMNS = ("AnnotationID", "ClassType", *_SPAN)

# Characters without a token; more is a mistyped offset, and would fill the memory with spaces.
MAX_BLANK = 1000

# A match is a whole word, and a number is not part of a larger score, date or decimal.
_BEFORE = r"(?<!\w)(?<!\d[-–:.,])"
_AFTER = r"(?!\w)(?![-–:.,]\d)"
_SCORE = re.compile(r"(\d+)\s*[-–:]\s*(\d+)")
_TWO_NAMES = re.compile(r"([^\W\d]\S+)\s+([^\W\d]\S+)")


@dataclass(frozen=True)
class OLPOptions:
    """Convert articles in the OLP layout to SQuAD 2.0."""

    tokens: tuple[Path, ...]
    """Token tables, one for each article; the file's name, without its ending, is the article's title."""
    questions: tuple[Path, ...]
    """Question tables, one for each article, named like its token table."""
    annotations: tuple[Path, ...]
    """Annotation tables, one for each article, named like its token table."""
    out: Path
    """SQuAD 2.0 JSON file to write; OUT.dropped.tsv beside it lists what was left out."""

    def __post_init__(self) -> None:
        check_out(self.out, [*self.tokens, *self.questions, *self.annotations])


def match_files(options: OLPOptions) -> dict[str, tuple[Path, Path, Path]]:
    """Return {article: (tokens, questions, annotations)}. OptionError names the files that fit no others."""
    if len(options.tokens) == len(options.questions) == len(options.annotations) == 1:
        return {options.tokens[0].stem: (options.tokens[0], options.questions[0], options.annotations[0])}
    given = {
        "--tokens": options.tokens,
        "--questions": options.questions,
        "--annotations": options.annotations,
    }
    tables = {flag: {path.stem: path for path in paths} for flag, paths in given.items()}
    for flag, named in tables.items():
        stems = [path.stem for path in given[flag]]
        if twice := [str(path) for name, path in named.items() if stems.count(name) > 1]:
            raise OptionError(
                f"{flag} {first_few(twice)}: another has the same name; one table for each article"
            )
        for other, others in tables.items():
            if alone := [str(path) for name, path in named.items() if name not in others]:
                raise OptionError(
                    f"{flag} {first_few(alone)}: no table of that name among {other}; an article's tables "
                    "share a name"
                )
    tokens, questions, annotations = tables.values()
    return {name: (path, questions[name], annotations[name]) for name, path in tokens.items()}


def read_text(path: Path, report: Report) -> str:
    """Return an article's text: every token at its offset, spaces between; tokens may be spaces.

    SquadFormatError names all rows with faults.
    """
    text = ""
    doc_ids: list[str] = []
    seen: set[tuple[int, int, str]] = set()

    def add(row: Row) -> None:
        nonlocal text
        onset = row.number("DocCharOnset(incl)")
        end = row.number("DocCharOffset(excl)")
        word = row["Text"]
        doc_ids.append(row["DocID"])
        if row["DocID"] != doc_ids[0]:
            raise RowError(
                f"DocID {row['DocID']!r} in the table of {doc_ids[0]!r}", "one table for each article"
            )
        if (onset, end, word) in seen:
            report.drop(path, row.line, word, "token listed twice")
            return
        seen.add((onset, end, word))
        above = len(text)
        text = text[:onset]  # where the token above reaches too far, only the next one is a fault
        word = _fitting(word, onset, end, above)  # before a wrong offset makes a huge text
        text = text.ljust(onset) + word.ljust(end - onset)

    read_table(path, TOKEN_COLUMNS, add)
    return text


def _fitting(word: str, onset: int, end: int, above: int) -> str:
    """Return a token as long as its offsets say at most. RowError for one that is not behind `above`."""
    if len(word) != end - onset:
        word = word.strip()  # spaces around a token are counted in its offsets or not, as it happens
    if len(word) > end - onset:
        raise RowError(
            f"token {word!r} has {len(word)} characters, more than its offsets {onset} to {end} span"
        )
    if onset < above:
        raise RowError(f"token {word!r} begins at {onset}, before the end of the token above at {above}")
    if end - above - len(word) > MAX_BLANK:
        raise RowError(
            f"token {word!r} at {onset} to {end} lies more than {MAX_BLANK} characters behind {above}"
        )
    return word


def read_questions(path: Path, report: Report) -> dict[str, Row]:
    """Read question rows by Q_ID; drop repeated rows. SquadFormatError names all rows with faults."""
    questions: dict[str, Row] = {}
    advice = "each row needs its own Q_ID, and TRUE or FALSE under Answerable"

    def add(row: Row) -> None:
        qid = row["Q_ID"]
        if not qid or row["Answerable"].strip().lower() not in ("true", "false"):
            raise RowError(f"got {qid!r} and {row['Answerable']!r}", advice)
        first = questions.setdefault(qid, row)
        if first.fields != row.fields:
            raise RowError(f"{qid!r} stands in row {first.line}, with other contents", advice)
        if first is not row:
            report.drop(path, row.line, qid, "question listed twice")

    read_table(path, QUESTION_COLUMNS, add, OTHER_NAMES)
    return questions


def read_annotations(
    path: Path, text: str | None, questions: dict[str, Row], report: Report
) -> dict[str, list[tuple[int, int]]]:
    """Read annotated spans by Q_ID, in the order of the text.

    SquadFormatError names all rows with faults. Without a text no span lies outside of it.
    """
    spans: dict[str, list[tuple[int, int]]] = {}

    def add(row: Row) -> None:
        qid = row["ClassType"]
        onset = row.number("DocCharOnset(incl)")
        end = row.number("DocCharOffset(excl)")
        name = f"annotation {row['AnnotationID']} of {qid}"
        if text is None:
            return
        if not onset < end <= len(text):
            raise RowError(
                f"{name} at {onset} to {end} lies outside its text of {len(text)} characters, or is empty"
            )
        if qid not in questions:
            report.drop(path, row.line, name, "annotation of a question that is not asked")
        elif (onset, end) in spans.get(qid, ()):
            report.drop(path, row.line, name, "annotation listed twice", row["Text"])
        elif _squeeze(text[onset:end]) != _squeeze(row["Text"]):
            reason = "annotation's text is not what stands at its offsets"
            report.drop(path, row.line, name, reason, text[onset:end])
        else:
            spans.setdefault(qid, []).append((onset, end))

    read_table(path, ANNOTATION_COLUMNS, add, may_be_empty=True)
    return {qid: sorted(found) for qid, found in spans.items()}


def _squeeze(text: str) -> str:
    return "".join(text.split()).lower()


def spellings(answer: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the spellings of an answer in a text, likeliest first: (kind, pattern)."""
    words = r"\s+".join(re.escape(word) for word in answer.split())
    forms = [("answered as written", words)]
    if score := _SCORE.fullmatch(answer):
        forms.append(("answered, score with another sign", rf"{score[1]}\s?[-–:]\s?{score[2]}"))
    if names := _TWO_NAMES.fullmatch(answer):
        forms.append(("answered, name turned round", rf"{re.escape(names[2])}\s+{re.escape(names[1])}"))
    for kind, form in forms:
        yield kind, re.compile(_BEFORE + form + _AFTER, re.IGNORECASE)


def locate(answer: str, text: str, spans: list[tuple[int, int]]) -> tuple[str, int, int]:
    """Return (kind, start, end) of an answer in the text, or (reason, -1, -1) where it has no place."""
    several = False
    for kind, pattern in spellings(answer):
        for onset, end in spans:
            if found := pattern.search(text, onset, end):
                return kind, found.start(), found.end()
        if not spans:
            places = list(pattern.finditer(text))
            if len(places) == 1:
                return kind, places[0].start(), places[0].end()
            several |= len(places) > 1
    if several:
        return "answer stands in several places, none annotated", -1, -1
    if "," in answer:
        return "answer has several parts and no place of its own", -1, -1
    if spans:
        return "answer is not in its annotations", -1, -1
    return "answer is not in the text, nothing annotated", -1, -1


def convert_article(title: str, tables: tuple[Path, Path, Path], report: Report) -> list[Example]:
    """Return the questions of an article that could be converted.

    SquadFormatError names all rows with faults, of all three tables.
    """
    text: str | None = None
    questions: dict[str, Row] = {}
    spans: dict[str, list[tuple[int, int]]] = {}
    faults: list[tuple[str, SquadFormatError]] = []
    with noted(faults, title):
        text = read_text(tables[0], report)
    with noted(faults, title):
        questions = read_questions(tables[1], report)
    with noted(faults, title):
        spans = read_annotations(tables[2], text, questions, report)
    _check(faults)
    assert text is not None
    examples = []
    for qid, row in questions.items():
        impossible = row["Answerable"].strip().lower() == "false"
        question = row["Question"].strip()
        answer = row["Answer"].strip()
        answers = []
        if not question or not (answer or impossible):
            report.drop(row.file, row.line, qid, "question or answer is empty", question)
            continue
        if impossible:
            kind = "unanswerable"
        else:
            kind, start, end = locate(answer, text, spans.get(qid, []))
            if start < 0:
                report.drop(row.file, row.line, qid, kind, f"{question} {answer}")
                continue
            answers.append(Answer(text[start:end], start))
        report.converted[kind] += 1
        examples.append(Example(f"{title}-{qid}", title, text, question, tuple(answers), impossible))
    return examples


def _check(faults: list[tuple[str, SquadFormatError]]) -> None:
    if faults:
        raise SquadFormatError("; ".join(str(error) for _, error in faults))


def convert_olp(options: OLPOptions) -> Report:
    """Convert every article, write the file and its log, and print the counts.

    SquadFormatError names all rows with faults, of all articles.
    """
    report = Report()
    examples: list[Example] = []
    faults: list[tuple[str, SquadFormatError]] = []
    for title, tables in match_files(options).items():
        with noted(faults, title):
            examples += convert_article(title, tables, report)
    _check(faults)
    return finish(options.out, examples, report)
