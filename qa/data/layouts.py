"""Layouts of question files as flat records: SQuAD JSON, MRQA, Label Studio, Prodigy, or flat already."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qa.base.errors import first_few

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One question: its place in the file, for messages, and its fields by column."""

    place: str
    fields: Fields
    fault: str = ""
    """Reason to leave the record out, where reading has found one."""
    squad: bool = False
    """True for a question of SQuAD JSON or MRQA."""


def flat_records(place: str, fields: Fields) -> Iterator[Record]:
    """Yield the questions that an object of a file holds; a part that cannot be read is a faulty record."""
    nested = None if "question" in fields else next((k for k in ("paragraphs", "qas") if k in fields), None)
    if nested is not None:
        yield from _parts(place, fields, nested)
    elif isinstance(fields.get("data"), dict) and isinstance(fields.get("annotations"), list):
        yield _label_studio(place, fields)
    elif "_task_hash" in fields or ({"text", "spans"} <= fields.keys() and "context" not in fields):
        yield _prodigy(place, fields)
    elif fields.keys() != {"header"}:  # the first line of MRQA
        names = {name: column_name(name) if column_name(name) not in fields else name for name in fields}
        twice = [name for name, low in names.items() if list(names.values()).count(low) > 1]
        fault = f"columns are one in lower case: {first_few(twice)}" if twice else ""
        yield Record(place, {low: fields[name] for name, low in names.items()}, fault)


def column_name(name: str) -> str:
    """Return the name of a column as it is known: Is Impossible is is_impossible."""
    return name.strip().lower().replace(" ", "_")


def _parts(place: str, fields: Fields, key: str) -> Iterator[Record]:
    parts = fields[key]
    if not isinstance(parts, list):
        yield Record(place, {}, f"{key} is not a list")
        return
    inherited: Fields = {name: fields[name] for name in ("title", "context") if name in fields}
    for number, part in enumerate(parts):
        where = f"{place}.{key}[{number}]"
        if not isinstance(part, dict):
            yield Record(where, {}, "question is not an object")
        elif key == "qas":
            yield _question(where, inherited | part)
        else:
            yield from flat_records(where, inherited | part)


def _question(place: str, fields: Fields) -> Record:
    """Return a question of SQuAD JSON or MRQA."""
    if "qid" in fields:
        fields = {"id": fields["qid"], **fields}
    detected = fields.pop("detected_answers", None)
    if detected:
        try:
            fields["answers"] = [
                _at(fields["context"], answer["text"], start, end + 1)
                for answer in detected
                for start, end in answer["char_spans"]  # both inclusive
            ]
        except (AttributeError, KeyError, TypeError, ValueError):
            return Record(place, fields, "detected_answers are not a list of text and char_spans", squad=True)
    for name in ("category", "copy_of"):
        if not isinstance(fields.get(name), str | int | None):
            return Record(place, fields, f"{name} is not a text", squad=True)
    return Record(place, fields, squad=True)


def _at(context: str, text: str, start: int, end: int) -> Fields:
    """Return an answer as its context writes it. MRQA gives its text in another case and spacing."""
    found = context[start:end]
    same = "".join(found.lower().split()) == "".join(text.lower().split())
    return {"text": found if same else text, "answer_start": start}


def _label_studio(place: str, task: Fields) -> Record:
    """Return a task of the template for question answering: spans of `text` answer `question`."""
    data = task["data"]
    named = {"context": data.get("text"), **data}
    kept = {name: named[name] for name in ("question", "context", "title") if named.get(name) is not None}
    fields = kept if {"question", "context"} <= kept.keys() else data
    fields = fields | {"id": task.get("id")}
    results = [
        one["result"]
        for one in task["annotations"]
        if isinstance(one, dict) and isinstance(one.get("result"), list) and not one.get("was_cancelled")
    ]
    if not results:
        return Record(place, fields, "nobody has submitted an annotation")
    values = [[one.get("value") for one in result if isinstance(one, dict)] for result in results]
    marked = [[value for value in some if isinstance(value, dict) and "start" in value] for some in values]
    if any(marked) and not all(marked):
        return Record(place, fields, "annotators disagree whether there is an answer")
    if any(isinstance(value, dict) and "start" not in value for some in values for value in some):
        return Record(place, fields, "annotated with something else than a marked span")
    return _with_spans(place, fields, [span for spans in marked for span in spans])


def _prodigy(place: str, task: Fields) -> Record:
    """Return a task with spans; its `answer` says whether the annotator accepted it."""
    meta = task.get("meta")
    named = {**(meta if isinstance(meta, dict) else {}), **task}
    fields = {name: named[name] for name in ("id", "title", "question") if name in named}
    fields |= {"context": task.get("text")}
    if task.get("answer", "accept" if "_task_hash" not in task else "") != "accept":
        return Record(place, fields, "not accepted in Prodigy")
    if not isinstance(task.get("spans"), list):
        return Record(place, fields, "no list of spans")
    return _with_spans(place, fields, task["spans"])


def _with_spans(place: str, fields: Fields, spans: list[Any]) -> Record:
    answers = []
    labels = [str(span.get("labels", span.get("label"))) for span in spans if isinstance(span, dict)]
    if len(set(labels)) > 1:
        return Record(place, fields, f"spans have several labels ({first_few(labels)}); keep one")
    for span in spans:
        start, end, text = (
            span.get(key) if isinstance(span, dict) else None for key in ("start", "end", "text")
        )
        if text is None:
            text = _between(fields.get("context"), start, end)
        if not isinstance(text, str) or not text.strip():
            return Record(place, fields, "a marked span has no text, and its place is uncertain")
        answers.append({"text": text, "answer_start": start})
    return Record(place, fields | {"answers": answers})


def _between(context: object, start: object, end: object) -> str | None:
    """Return the text of a span; None where tools may count the characters before it otherwise."""
    if not (isinstance(context, str) and isinstance(start, int) and isinstance(end, int)):
        return None
    if not 0 <= start < end <= len(context) or any(c == "\r" or c > "\uffff" for c in context[:end]):
        return None
    return context[start:end]
