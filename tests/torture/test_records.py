"""Real records, mutated as tools and people do: each is read as it was meant, or listed, or its file is refused."""

import csv
import gzip
import io
import json

import pyarrow
import pytest
from amounts import cases, refused, rng, tries
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from strategies import damaged_bytes

from qa.base.errors import SquadFormatError
from qa.data.convert.report import Report, write
from qa.data.convert.rows import RowsOptions, convert_rows, read_examples
from qa.data.datasets import resolve
from qa.data.squad import read_squad

N_RECORDS = 6
EXAMPLES = read_squad(resolve("embedded", "train"))


def as_list(texts, starts):
    return [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]


def as_numpy(texts, starts):
    return f"{{'text': array({texts!r}, dtype=object), 'answer_start': array({starts!r}, dtype=int32)}}"


def as_number(text):
    """An answer as spreadsheets and JSON have it where it is a number."""
    return int(text) if text.isdecimal() and text[0] != "0" else text


def utf16(context, start):
    return len(context[:start].encode("utf-16-le")) // 2


ANSWER_FORMS = [
    lambda texts, starts: {"answers": {"text": texts, "answer_start": starts}},
    lambda texts, starts: {"answers": as_list(texts, starts)},
    lambda texts, starts: {"answers": texts, "answer_start": starts},
    lambda texts, starts: {"answer": texts[0] if texts else "", "answer_start": starts[0] if starts else -1},
    lambda texts, starts: {"answer": texts[0] if texts else None},
    lambda texts, starts: {"answer_text": texts[0] if texts else "", "answers": None},
    lambda texts, starts: {"answers": repr({"text": texts, "answer_start": starts})},
    lambda texts, starts: {"answers": as_numpy(texts, starts)},
    lambda texts, starts: {"answers": json.dumps(texts), "answer_start": json.dumps(starts)},
    lambda texts, starts: {"answers": [""], "answer": texts[0] if texts else ""},
    lambda texts, starts: {"answer": as_number(texts[0]) if texts else None, "answer_start": (starts or [None])[0]},
    lambda texts, starts: {"answer": texts[0], "start": starts[0], "end": 0} if texts else {"answer": ""},
    lambda texts, starts: {"answers": [{"text": text, "start": start} for text, start in zip(texts, starts, strict=True)]},
]  # fmt: skip
SQUAD_FORMS = [
    lambda texts, starts: {"answers": as_list(texts, starts)},
    lambda texts, starts: {"answers": as_list(texts or [""], starts or [0])},
]
COUNTINGS = [
    lambda context, start: start,
    lambda context, start: float(start),
    lambda context, start: str(start),
    lambda context, start: f"{start}.0",
    lambda context, start: start + 1,
    utf16,
    lambda context, start: len(context[:start].encode()),
    lambda context, start: len(context[:start].replace("\r", "")),
    lambda context, start: -1,
]
TRUTHS = [
    (True, False),
    ("TRUE", "FALSE"),
    (1.0, 0.0),
    ("yes", "no"),
    ("T", ""),
    ("wahr", "falsch"),
    (1, None),
]
CONTEXTS = [
    lambda context: context,
    lambda context: "🚢 " + context,
    lambda context: '"Stop" ' + context,
    lambda context: '"' + context,
    lambda context: context.replace(". ", ".\r\n"),
    lambda context: context.replace(". ", '."\n'),
    lambda context: context.replace(", ", ",\t"),
]


def mutated(chance, forms):
    """The records of one file, mutated in one way and a few in another, and what each of them means."""
    form, counting, truth, change = map(chance.choice, (forms, COUNTINGS, TRUTHS, CONTEXTS))
    records, meant = [], {}
    for number, example in enumerate(chance.sample(EXAMPLES, N_RECORDS)):
        if chance.random() < 0.1:
            counting, truth, change = map(chance.choice, (COUNTINGS, TRUTHS, CONTEXTS))
        texts = [a.text for a in example.answers[:1]] if chance.random() < 0.8 else []
        if chance.random() < 0.1:  # a part of a word
            texts = [text[:-1] if len(text) > 2 else text for text in texts]
            texts = [text for text in texts if text.strip() == text]
        context = change(example.context)
        starts = [context.find(text) for text in texts]
        if -1 in starts or any(context.count(text) > 1 for text in texts):
            context, starts = example.context, [a.start for a in example.answers[: len(texts)]]
        qid = chance.choice([number, str(number), f"q{number}"])
        fields = form(texts, [counting(context, start) for start in starts])
        if chance.random() < 0.7:
            fields["is_impossible"] = truth[bool(texts)]
        records.append({"id": qid, "context": context, "question": example.question, **fields})
        meant[str(qid)] = (example.question, context, list(zip(texts, starts, strict=True)))
    return records, meant


def as_squad(records):
    paragraphs = [{"context": record.pop("context"), "qas": [record]} for record in records]
    return json.dumps({"data": [{"title": None, "paragraphs": paragraphs}]})


def as_mrqa(records):
    """Ends are inclusive, and answers in lower case; one that has no place is no answer."""

    def asked(record):
        spans = [(one["text"], one["answer_start"]) for one in record["answers"] if one["text"]]
        return {
            "qid": record["id"],
            "question": record["question"],
            "detected_answers": [
                {"text": text.lower(), "char_spans": [[start, start + len(text) - 1]]}
                for text, start in spans
                if isinstance(start, int)
            ],
            "answers": [text for text, _ in spans],
        }

    contexts = [{"context": record["context"], "qas": [asked(record)]} for record in records]
    return "\n".join(map(json.dumps, [{"header": {"dataset": "Canals"}}, *contexts]))


def spans_of(record):
    return [{"start": one["answer_start"], "text": one["text"]} for one in record["answers"] if one["text"]]


def as_label_studio(records):
    return json.dumps(
        [
            {
                "id": record["id"],
                "data": {"text": record["context"], "question": record["question"]},
                "annotations": [{"result": [{"value": span} for span in spans_of(record)]}],
            }
            for record in records
        ]
    )


def as_prodigy(records):
    return "\n".join(
        json.dumps(
            {
                "text": record["context"],
                "meta": {"id": record["id"], "question": record["question"]},
                "spans": spans_of(record),
                "answer": "accept",
                "_task_hash": number,
            }
        )
        for number, record in enumerate(records)
    )


def as_lines(records):
    return "\n".join(map(json.dumps, records))


def as_table(delimiter, quoting, first=""):
    def write(records):
        stream = io.StringIO(first, newline="")
        stream.seek(len(first))
        columns = list(dict.fromkeys(column for record in records for column in record))
        table = csv.DictWriter(stream, columns, delimiter=delimiter, quoting=quoting, quotechar='"')
        table.writeheader()
        table.writerows(records)
        return stream.getvalue()

    return write


def as_plain_tsv(records):
    columns = list(dict.fromkeys(column for record in records for column in record))
    rows = [columns, *([record.get(column) for column in columns] for record in records)]
    return "".join("\t".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)


def as_arrow_table(records):
    return pyarrow.Table.from_pylist(
        [
            {column: value if value is None else str(value) for column, value in record.items()}
            for record in records
        ]
    )


def as_parquet(records):
    stream = io.BytesIO()
    parquet.write_table(as_arrow_table(records), stream)
    return stream.getvalue()


def as_arrow(records):
    stream = io.BytesIO()
    table = as_arrow_table(records)
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


FORMATS = {
    "rows.jsonl": as_lines,
    "lines.json": as_lines,
    "rows.jsonl.gz": lambda records: gzip.compress(as_lines(records).encode()),
    "rows.json": json.dumps,
    "squad.json": as_squad,
    "mrqa.jsonl": as_mrqa,
    "label-studio.json": as_label_studio,
    "prodigy.jsonl": as_prodigy,
    "comma.csv": as_table(",", csv.QUOTE_MINIMAL),
    "semicolon.csv": as_table(";", csv.QUOTE_ALL, "sep=;\n"),
    "tabs.csv": as_table("\t", csv.QUOTE_MINIMAL),
    "quoted.tsv": as_table("\t", csv.QUOTE_MINIMAL),
    "plain.tsv": as_plain_tsv,
    "rows.parquet": as_parquet,
    "folder/data-00000-of-00001.arrow": as_arrow,
}
IN_LISTS = {"squad.json", "mrqa.jsonl", "label-studio.json", "prodigy.jsonl"}


def written(folder, name, records):
    """Write a file and return what is given to `convert rows`: the file, or its folder of datasets."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    content = FORMATS[name](records)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path.parent if path.suffix == ".arrow" else path


def as_meant(example, meant, to_score=False):
    """Return whether a question is the one that was meant; to score, an answer may stand elsewhere."""
    question, context, answers = meant
    seen = [(answer.text, answer.start) for answer in example.answers]
    if to_score:
        seen, answers = ([text.lower() for text, _ in some] for some in (seen, answers))
    return (example.question, example.context, seen) == (question, context, answers)


def converted(source, out, *, repair, to_score):
    """Convert to train or, as --data of `evaluate` does, to score; return the report."""
    if not to_score:
        return convert_rows(RowsOptions(str(source), out, repair=repair))
    report = Report()
    examples, made_from = read_examples(str(source), "train", report, to_score=True)
    write(out, examples, report, made_from)
    return report


@pytest.mark.parametrize("name", FORMATS)
def test_a_mutated_record_is_read_as_it_was_meant_or_listed_or_its_file_refused(tmp_path, name):
    n_right = n_listed = 0
    refusals = []
    files = cases(10_000)
    for number in files:
        chance = rng("records", name, number)
        records, meant = mutated(chance, SQUAD_FORMS if name in IN_LISTS else ANSWER_FORMS)
        source = written(tmp_path, name, records)
        how = {"repair": chance.random() < 0.5, "to_score": chance.random() < 0.3}
        try:
            report = converted(source, tmp_path / "out.json", **how)
        except SquadFormatError as error:
            refusals.append(str(error))
            continue
        listed = [dropped.item for dropped in report.dropped]
        assert all(dropped.reason for dropped in report.dropped)
        examples = {example.id: example for example in read_squad(tmp_path / "out.json")}
        wrong = [id for id, one in examples.items() if not as_meant(one, meant[id], how["to_score"])]
        assert [(id, examples[id].answers, meant[id], records) for id in wrong] == []
        assert len({*examples, *listed}) == len(examples) + len(listed)
        # A table's record that swallows others is listed by its lines.
        swallowed = {item for item in listed if item.startswith("lines-")}
        assert swallowed or {*examples, *listed} == meant.keys()
        assert {*examples, *listed} - swallowed <= meant.keys()
        n_right += len(examples)
        n_listed += len(listed)
    assert not any("\n" in refusal for refusal in refusals)
    assert n_right > len(files)
    assert n_listed + len(refusals) > 0


def test_a_mutated_question_of_squad_json_is_read_as_it_was_meant_or_refused(tmp_path):
    n_right = n_refused = 0
    for number in cases(10_000):
        records, meant = mutated(rng("squad", number), SQUAD_FORMS)
        for record in records:
            path = written(tmp_path, "squad.json", [record])
            try:
                (example,) = read_squad(path)
            except SquadFormatError as error:
                n_refused += 1
                assert "\n" not in str(error)  # noqa: PT017
            else:
                n_right += 1
                assert as_meant(example, meant[example.id])
    assert n_right > 0
    assert n_refused > 0


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_of_records_is_converted_or_refused_in_one_line(tmp_path, name):
    source = written(tmp_path, name, mutated(rng("damage", name), SQUAD_FORMS)[0])
    raw = (tmp_path / name).read_bytes()

    @tries(2500)
    @given(damaged_bytes(raw), st.booleans())
    def check(damaged, to_score):
        (tmp_path / name).write_bytes(damaged)
        refused(lambda: converted(source, tmp_path / "out.json", repair=True, to_score=to_score))

    check()
