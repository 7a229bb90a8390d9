"""Real records, mutated as tools and people do: each is read as it was meant, or listed, or its file is refused."""

import csv
import io
import json

import pyarrow
import pytest
from amounts import cases, rng
from pyarrow import parquet

from qa.base.errors import SquadFormatError
from qa.data.convert.rows import RowsOptions, convert_rows
from qa.data.datasets import resolve
from qa.data.squad import read_squad

N_RECORDS = 6
EXAMPLES = read_squad(resolve("embedded", "train"))


def as_list(texts, starts):
    return [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]


def as_numpy(texts, starts):
    return f"{{'text': array({texts!r}, dtype=object), 'answer_start': array({starts!r}, dtype=int32)}}"


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
]
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


def as_table(delimiter, quoting):
    def write(records):
        stream = io.StringIO(newline="")
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


def as_parquet(records):
    stream = io.BytesIO()
    texts = [
        {column: value if value is None else str(value) for column, value in record.items()}
        for record in records
    ]
    parquet.write_table(pyarrow.Table.from_pylist(texts), stream)
    return stream.getvalue()


FORMATS = {
    "rows.jsonl": lambda records: "\n".join(map(json.dumps, records)),
    "rows.json": json.dumps,
    "squad.json": as_squad,
    "comma.csv": as_table(",", csv.QUOTE_MINIMAL),
    "semicolon.csv": as_table(";", csv.QUOTE_ALL),
    "quoted.tsv": as_table("\t", csv.QUOTE_MINIMAL),
    "plain.tsv": as_plain_tsv,
    "rows.parquet": as_parquet,
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_mutated_record_is_read_as_it_was_meant_or_listed_or_its_file_refused(tmp_path, name, capsys):
    n_right = n_listed = 0
    refusals = []
    files = cases(10_000)
    for number in files:
        chance = rng("records", name, number)
        records, meant = mutated(chance, SQUAD_FORMS if name == "squad.json" else ANSWER_FORMS)
        content = FORMATS[name](records)
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        options = RowsOptions(str(path), tmp_path / "out.json", repair=chance.random() < 0.5)
        try:
            report = convert_rows(options)
        except SquadFormatError as error:
            refusals.append(str(error))
            continue
        listed = [dropped.item for dropped in report.dropped]
        assert all(dropped.reason for dropped in report.dropped)
        found = {}
        for example in read_squad(tmp_path / "out.json"):
            answers = [(answer.text, answer.start) for answer in example.answers]
            assert (example.question, example.context, answers) == meant[example.id], (
                content,
                report.dropped,
            )
            found[example.id] = example
        assert len({*found, *listed}) == len(found) + len(listed)
        # A table's record that swallows others is listed by its lines.
        swallowed = {item for item in listed if item.startswith("lines-")}
        assert swallowed or {*found, *listed} == meant.keys()
        assert {*found, *listed} - swallowed <= meant.keys()
        n_right += len(found)
        n_listed += len(listed)
    assert not any("\n" in refusal for refusal in refusals)
    assert n_right > len(files)
    assert n_listed + len(refusals) >= 5
