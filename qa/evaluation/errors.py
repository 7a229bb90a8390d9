"""List of the questions that were answered wrongly, as HTML or CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qa.base.files import write_whole
from qa.data.metrics import gold_texts, scores_by_question
from qa.data.squad import Example
from qa.text.answers import Candidate

SUFFIXES = (".csv", ".html")
NO_ANSWER = "no answer"
Result = tuple[Candidate | None, float]  # answer and its probability, as in Prediction.options
COLUMNS = ("id", "question", "expected", "answered", "probability", "passage")


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """A question whose answer is no exact match, with its passage around the expected answer.

    Where none is expected, the passage is around the answer given.
    """

    id: str
    question: str
    expected: str
    """All gold answers, or NO_ANSWER."""
    answered: str
    """The answer given, NO_ANSWER, or nothing where the prediction is missing."""
    probability: float | None
    """Probability of the result; None for a prediction file."""
    before: str
    marked: str
    after: str


def wrong_answers(
    examples: Sequence[Example], answers: Mapping[str, str], results: Sequence[Result] | None
) -> list[WrongAnswer]:
    """Return what was answered wrongly, the most probable results first; questions without answers are
    wrong.

    `results` are those of a model; None for a prediction file.
    """
    scores = scores_by_question(examples, answers)
    known = results if results is not None else [(None, None)] * len(examples)
    wrong = [
        _wrong(e, answers.get(e.id), *result)
        for e, (exact, _), result in zip(examples, scores, known, strict=True)
        if not exact
    ]
    return sorted(wrong, key=lambda one: -(one.probability or 0.0))


def _wrong(
    example: Example, answer: str | None, given: Candidate | None, probability: float | None
) -> WrongAnswer:
    context = example.context
    start = end = len(context)
    if example.answers:
        start = example.answers[0].start
        end = start + len(example.answers[0].text)
    elif given is not None:
        start, end = given.start, given.end
    elif answer and answer in context:
        start = context.index(answer)
        end = start + len(answer)
    return WrongAnswer(
        example.id,
        example.question,
        " / ".join(dict.fromkeys(text or NO_ANSWER for text in gold_texts(example))),
        "" if answer is None else answer or NO_ANSWER,
        probability,
        context[:start],
        context[start:end],
        context[end:],
    )


def write_errors(path: Path, wrong: Sequence[WrongAnswer], summary: str) -> None:
    """Write the list in the format of the file's suffix; `summary` is a line of scores for its head."""
    write_whole(path, _as_csv(wrong) if path.suffix == ".csv" else _as_html(wrong, summary))


def _as_csv(wrong: Sequence[WrongAnswer]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for one in wrong:
        passage = f"{one.before}>>{one.marked}<<{one.after}" if one.marked else one.before
        probability = "" if one.probability is None else f"{one.probability:.4f}"
        writer.writerow([one.id, one.question, one.expected, one.answered, probability, passage])
    return stream.getvalue()


def _as_html(wrong: Sequence[WrongAnswer], summary: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    return templates.get_template("errors.html.j2").render(wrong=wrong, summary=summary)
