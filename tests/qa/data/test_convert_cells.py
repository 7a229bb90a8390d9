"""Cells as Excel, pandas, R and people write them: understood as they were meant, or listed with the reason."""

import json

import pyarrow
import pytest
from pyarrow import parquet

from qa.base.errors import SquadFormatError
from qa.data.convert.cells import is_empty
from qa.data.convert.rows import BOTH, NEITHER, RowsOptions, convert_rows
from qa.data.datasets import resolve
from qa.data.squad import Answer, read_squad

CANAL = "The canal was opened in 1841. Two locks lift boats by nine metres, and 1841 boats pass a year."
YEAR = (Answer("1841", 24),)
HEIGHT = (Answer("nine metres", 54),)


def convert(path, **options):
    """The answers by id, the reason by item of what was left out, and the report."""
    out = path.parent / "out.json"
    report = convert_rows(RowsOptions(str(path), out, **options))
    return {e.id: e.answers for e in read_squad(out)}, {d.item: d.reason for d in report.dropped}, report


def converted(path, *records, **options):
    """Convert records, and one more that is right, so that there is always a result."""
    right = {"id": "right", "question": "How high?", "context": CANAL, "answer": "nine metres"}
    rows = [{"question": "When?", "context": CANAL, **record} for record in records]
    path.write_text("\n".join(json.dumps(row) for row in (*rows, right)), encoding="utf-8")
    found, dropped, report = convert(path, **options)
    assert found.pop("right") == HEIGHT
    return found, dropped, report


@pytest.mark.parametrize(
    ("value", "impossible"),
    [(value, True) for value in (True, 1, 1.0, "TRUE", "True", "1.0", "yes", " T ", "y")]
    + [(value, False) for value in (False, 0, 0.0, "FALSE", "0", "0.0", "no", "F", None, "", float("nan"))]
    + [(value, None) for value in ("wahr", "maybe", "NA", 2, [], "truee")],
)
def test_true_and_false_as_people_write_them(tmp_path, value, impossible):
    given = {"id": "a", "answer": "1841", "answer_start": 24, "is_impossible": value}
    found, dropped, report = converted(tmp_path / "a.jsonl", given)
    assert found == ({} if impossible is None else {"a": () if impossible else YEAR})
    assert list(dropped) == (["a"] if impossible is None else [])
    assert report.converted[BOTH] == bool(impossible)
    _, _, report = converted(tmp_path / "a.jsonl", {"id": "a", "answer": "", "is_impossible": value})
    assert report.converted[NEITHER] == (impossible is False and not is_empty(value))


@pytest.mark.parametrize(
    ("fields", "answers"),
    [
        ({"answer": 1841, "answer_start": 24.0}, YEAR),
        ({"answer": 1841.0, "answer_start": "24"}, YEAR),
        ({"answer": "1841", "answer_start": " 24.0 "}, YEAR),
        ({"answer": "1841", "answer_start": [24]}, YEAR),
        ({"answer": "1841", "start": 24, "end": 28}, YEAR),
        ({"answer": {"text": "1841", "start": 24, "end": 28}}, YEAR),
        ({"answers": [{"text": "1841", "start": 24, "end": 28, "labels": ["Answer"]}]}, YEAR),
        ({"answers": {"text": ["1841"], "answer_start": ["24"]}}, YEAR),
        ({"answers": "{'text': ['1841'], 'answer_start': [24]}"}, YEAR),
        ({"answers": "{'text': array(['1841'], dtype=object), 'answer_start': array([24], dtype=int32)}"}, YEAR),
        ({"answers": "{'text': array([], dtype=object), 'answer_start': array([], dtype=int32)}"}, ()),
        ({"answers": {"text": ["1841"], "answer_start": [24]}, "answer": None}, YEAR),
        ({"answers": None, "answer": "nine metres"}, HEIGHT),
        ({"answers": [], "answer": "", "answer_text": "nine metres"}, HEIGHT),
        ({"answers": ["nine metres"], "answer": "nine metres "}, HEIGHT),
        ({"answer": '""'}, ()),
        ({"answers": [""]}, ()),
        ({"answers": [None]}, ()),
        ({"answers": {"text": [""], "answer_start": [-1]}}, ()),
        ({"answers": {"text": [""], "answer_start": []}}, ()),
        ({"answers": [{"text": "", "answer_start": 0}]}, ()),
        ({"answers": None}, ()),
        ({"answer": " nine metres "}, HEIGHT),
        ({"answers": ["nine metres", "opened in 1841"]}, (*HEIGHT, Answer("opened in 1841", 14))),
        ({"answer": float("nan"), "answer_start": float("nan")}, ()),
        ({"answer": "nine metres", "answer_start": "nan"}, HEIGHT),
        # Not certain:
        ({"answer": "-", "context": "Write an e-mail."}, "no letter or digit"),
        ({"answer": "\u0930\u093e\u092e", "context": "\u0930\u093e\u092e\u093e\u092f\u0923"}, "inside a longer word"),
        ({"answer": "Cafe", "context": "The Cafe\u0301 is open."}, "inside a longer word"),
        ({"answer": "1841", "answer_start": 25}, "not at its answer_start, and occurs several times"),
        ({"answer": "1841", "answer_start": "24,0"}, "not a whole number"),
        ({"answer": "1841", "answer_start": True}, "not a whole number"),
        ({"answer": "lock"}, "inside a longer word"),
        ({"answer": "\u110c\u1169", "context": "\u1109\u1166\u110c\u1169\u11bc"}, "inside a longer word"),
        ({"answer": "12", "context": "Le 12\u00a02023, 1'200 m."}, (Answer("12", 3),)),
        ({"answer": "5", "context": "He is 5'10 tall."}, (Answer("5", 6),)),
        ({"answer": "2", "context": "It has 9 m\u00b2."}, "does not occur"),
        ({"answer": "200", "context": "It costs 1\u202f200 \u20ac."}, "inside a longer word"),
        ({"answer": "\uff13", "context": "\uff13\uff0e\uff15\u4e07\u5186"}, "inside a longer word"),
        ({"answer": "1.234,50 \u20ac", "context": "Miete: 1.234,50\u00a0\u20ac."}, "look alike; copy it from there"),
        ({"answer": "K\u00f6ln", "context": "Es liegt in Ko\u0308ln."}, "look alike; copy it from there"),
        ({"answer": "184", "answer_start": 30}, "not at its answer_start"),
        ({"answer": 184, "answer_start": 24}, "longer one"),
        ({"answer": 184}, "longer one; write it as a text, as it stands there"),
        ({"answers": ["nine metres", ""]}, "some of its answers are empty"),
        ({"answers": ["nine metres"], "answer": "Two"}, "different answers"),
        ({"answers": ["nine metres", "Two"], "answer_start": 54}, "as many answer_start"),
        ({"answers": "['nine' 'metres']"}, "not readable"),
        ({"answers": "{'text': ['1841'], 'answer_start': [nan]}"}, "not readable"),
        ({"answers": {"value": "nine metres"}}, "not a text"),
        ({"answer": True}, "not a text"),
    ],
)  # fmt: skip
def test_answers_and_their_starts(tmp_path, fields, answers):
    found, dropped, _ = converted(tmp_path / "a.jsonl", {"id": 7, **fields})
    assert found == ({} if isinstance(answers, str) else {"7": answers})
    assert [answers in reason for reason in dropped.values()] == [True] * isinstance(answers, str)


def test_rows_without_an_id_that_repeat_a_question_are_one_of_several_answers(tmp_path):
    found, dropped, report = converted(
        tmp_path / "a.jsonl", *({"answer": a} for a in ("nine metres", "Two", "Two"))
    )
    assert (list(found.values()), dropped) == ([(*HEIGHT, Answer("Two", 30))], {})
    assert "       2  rows repeat a question" in report.table(tmp_path)
    found, dropped, _ = converted(tmp_path / "a.jsonl", *({"answer": a} for a in ("nine metres", "")))
    assert found == {}
    assert ["disagree" in reason for reason in dropped.values()] == [True, True]


@pytest.mark.parametrize("names", [("ID", "Title", "is_impossible"), ("id", " title ", "Is Impossible")])
def test_case_and_spaces_of_column_names_do_not_matter(tmp_path, names):
    values = dict(zip(names, ("7", "T", "true"), strict=True)) | {
        "question": "When?",
        "context": CANAL,
        "answer": "",
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(values))
    (tmp_path / "a.csv").write_text(
        ",".join(values) + "\n" + ",".join(f'"{v}"' for v in values.values()) + "\n"
    )
    for file in ("a.jsonl", "a.csv"):
        convert(tmp_path / file)
        (example,) = read_squad(tmp_path / "out.json")
        assert (example.id, example.title, example.is_impossible) == ("7", "T", True)


def test_a_flat_record_keeps_what_training_must_know(tmp_path):
    row = {
        "id": "a",
        "question": "When?",
        "context": CANAL,
        "answers": [],
        "unlabelled": True,
        "category": "x",
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(row | {"copy_of": "b"}))
    convert_rows(RowsOptions(str(tmp_path / "a.jsonl"), tmp_path / "out.json"))
    (example,) = read_squad(tmp_path / "out.json", unlabelled=True)
    assert (example.unlabelled, example.is_impossible, example.category) == (True, False, "x")
    assert example.copy_of == "b"


def test_the_marks_that_excel_puts_around_commas_are_of_the_table(tmp_path):
    (tmp_path / "a.tsv").write_text(
        'question\tcontext\tanswer\nWhen?\t"In May, it opened in 1841."\t1841\nWho?\tAda opened it.\tAda\n'
    )
    found, dropped, _ = convert(tmp_path / "a.tsv")
    assert (list(found.values()), dropped) == ([(Answer("1841", 21),), (Answer("Ada", 0),)], {})


def test_a_date_that_python_does_not_have_spoils_no_parquet_file(tmp_path):
    moment = pyarrow.array([1], pyarrow.timestamp("ns"))
    texts = {
        name: [value]
        for name, value in (("question", "When?"), ("context", CANAL), ("answer", "nine metres"))
    }
    parquet.write_table(pyarrow.table(texts | {"made": moment}), tmp_path / "a.parquet")
    assert list(convert(tmp_path / "a.parquet")[0].values()) == [HEIGHT]


def test_a_number_is_no_part_of_a_longer_number(tmp_path):
    context = "Version 3.0 costs 3,200 crowns."
    records = [{"id": n, "context": context, "answer": n} for n in (3.0, "200", "3,200", 3)]
    found, dropped, _ = converted(tmp_path / "a.jsonl", *records)
    assert found == {"3,200": (Answer("3,200", 18),)}
    assert list(dropped) == ["3.0", "200", "3"]


def counted(how):
    """Three questions whose offsets are counted in another way; one answer stands twice in its context."""
    context = "🚢 News:\r\nthe ferry 🎉 to Hessle costs 4 crowns.\r\nParking costs 4 crowns too."
    plain = "No ferry today."
    return [
        {"id": name, "context": text, "answer": answer, "answer_start": how(text[: text.rindex(answer)])}
        for name, text, answer in (
            ("a", context, "Hessle"),
            ("b", context, "4 crowns"),
            ("c", plain, "ferry"),
        )
    ]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("UTF-16", lambda before: len(before.encode("utf-16-le")) // 2),
        ("bytes", lambda before: len(before.encode())),
        ("carriage returns", lambda before: len(before.replace("\r", ""))),
        ("from 1", lambda before: len(before) + 1),
    ],
)
def test_offsets_in_another_counting_are_listed_or_repaired(tmp_path, name, how):
    rows = [{"question": "Which?", **record} for record in counted(how)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows))
    reference = {record["id"]: record["answer_start"] for record in counted(len)}
    shifted = [record["id"] for record in counted(how) if record["answer_start"] != reference[record["id"]]]
    if len(shifted) < 3:  # else nothing is left to write
        found, dropped, _ = convert(path)
        assert list(dropped) == shifted
        assert all(name in reason and "--repair" in reason for reason in dropped.values())
    found, dropped, report = convert(path, repair=True)
    assert {i: answers[0].start for i, answers in found.items()} == reference
    assert dropped == {}
    assert report.repaired.total() == len(shifted)


def test_one_offset_that_fits_no_counting_is_repaired_only_where_the_answer_stands_once(tmp_path):
    how = counted(lambda before: len(before.encode()))
    how[0]["answer_start"] += 1
    found, dropped, report = converted(tmp_path / "a.jsonl", *how, repair=True)
    assert {i: answers[0].start for i, answers in found.items()} == {"a": 24, "c": 3}
    assert list(dropped) == ["b"]
    assert report.repaired.total() == 1


HEADER = "question\tcontext\tanswer\n"


@pytest.mark.parametrize(
    ("name", "table", "answers"),
    [
        (
            "a.tsv",
            HEADER + 'Who?\tAda spoke.\tAda\nWhat?\t"Stop the boat, she said.\tStop\nWhen?\tIn 1841.\t1841\n'
            'What?\tHe said go home"\tgo home\n',
            {"line-2": "Ada", "line-3": "Stop", "line-4": "1841", "line-5": "go home"},
        ),
        ("a.tsv", HEADER + 'What?\t"Hello" was all.\tHello\nWhen?\tIn 1841.\t1841', {"line-2": "Hello", "line-3": "1841"}),
        ("a.tsv", HEADER + 'What?\t"She said ""Stop""\nand left."\t"Stop"\r\nWhen?\tIn 1841.\t1841', {"line-3": "Stop", "line-4": "1841"}),
        ("a.tsv", HEADER + 'What?\tHe said "Stop".\t"Stop"\nWhen?\tIn 1841.\t1841', {"line-2": None, "line-3": "1841"}),
        ("a.tsv", HEADER + 'What?\t"He said stop."\tstop\nWhen?\t"In 1841."\t1841', {"line-2": "stop", "line-3": "1841"}),
        ("a.csv", HEADER + "When?\tIn May, 1841.\t1841\n", {"line-2": "1841"}),
        ("a.CSV", "sep=;\nquestion;context;answer\nWhen?;In 1841.;1841\n", {"line-3": "1841"}),
        ("a.csv", "question;context;answer\nWhen?;In May, 1841.;1841\n", {"line-2": "1841"}),
        ("a.tsv", "Question,Context, Answer\nWhen?,In 1841.,1841\n", {"line-2": "1841"}),
        ("a.csv", "\r\n\nquestion;context;answer\nWhen?;In May, 1841.;1841\n", {"line-4": "1841"}),
        ("a.csv", "ID,question,context,Answer,Answer_Start\nq7,When?,In 1841 or 1841.,1841,11\n", {"q7": "1841"}),
        ("a.csv", "id,ID,question,context,answer\nq7,x,When?,In 1841.,1841\n", {"q7": "1841"}),
        ("a.csv", "sep=;\rquestion;context;answer\rWhen?;In 1841.;1841\r", {"line-3": "1841"}),
        ("a.csv", 'question;context;answer\rWhen?;"In 1841.\nIn May.";1841\r', {"line-3": "1841"}),
        ("a.csv", 'question,context,answer\nWhen?,"In May, it rained.\nIn June, it snowed.",May\n', {"line-3": "May"}),
        (
            "a.csv",
            'question,context,answer\nWhat?,"Stop the boat! she said.,Stop\nWhen?,In 1841.,1841\n'
            'What?,He said go home",go home\nWho?,Ada spoke.,Ada\n',
            {"line-5": "Ada", "lines-2-to-4": None},
        ),
    ],
)  # fmt: skip
def test_quotation_marks_and_delimiters_of_tables(tmp_path, name, table, answers):
    (tmp_path / name).write_text(table, newline="")
    found, dropped, _ = convert(tmp_path / name)
    assert {i: given[0].text for i, given in found.items()} | dict.fromkeys(dropped) == answers


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("a.csv", 'question,context,answer\nWho?,Ada.,Ada\nWhat?,"Stop,Stop\nWhen?,May.,May\n', "line 3: unexpected end"),
        ("a.csv", "question,context,answer\na,b\nWho?,Ada,Ada\nc,d\n", "line 2, 4: expected 3 fields, found 2"),
        ("a.csv", "question,context,answer,answer\na,b,c,c\n", "'answer' occurs twice"),
        ("a.csv", f"{'x' * 200_000}\na,b,c\n", "one column only, 'xxx"),
        ("a.csv", "question context answer\na b c\n", "one column only, 'question context answer'"),
        ("a.csv", "question,context,reply\na,b,c\n", "no column 'answer' or 'answers'; its columns are context, quest"),
        ("a.tsv", HEADER + 'a\t"b ""c"""\tc\nd\t"e" f\te\n', "line 2: has quoted cells"),
        ("a.tsv", '"question"\t"context"\t"answer"\n"a"\t"b \\"c\\" d"\t"c"\n', "line 2: .* expected after"),
        ("a.csv", "question,context,answer\na,b\na,b,c,d\n", "found 2 or 4; quote those .* ','; an empty one"),
        ("a.csv", "question,context\n\xff,b", "not UTF-8 at byte 17"),
        ("a.jsonl", '{"question": 1}\n{oops}\n{}\n{oops', "line 2, 4: not valid JSON"),
        ("a.json", '[\n{"question": 1},\n{"question": 2},]', "line 3: .* column 17"),
        ("a.json", "[1]", r"not an object .*\(1\)"),
        ("a.json", "[]", "no records"),
        ("a.json", "\n", "no records"),
        ("a.json", '{"data": [{"paragraphs": []}]}', "no records"),
        ("a.json", '[{"question": "x", "text": "y", "answer": ""}]', "no column 'context'; its columns are answer, question, text; give the context this name"),
        ("a.json", '[{"query": "x", "text": "y"}]', "no column 'question', 'context', 'answer'; .* give the question and the context and the answer these"),
        ("a.parquet", "PAR1", "cannot be read as a Parquet file"),
    ],
)  # fmt: skip
def test_all_that_is_wrong_in_a_file_is_named_in_one_line(tmp_path, name, table, message):
    (tmp_path / name).write_bytes(table.encode("latin-1"))
    with pytest.raises(SquadFormatError, match=message) as caught:
        convert(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.json").exists()


ADVICE = {
    "a quotation mark that does not close": (
        'What?,"Stop the boat! she said.,Stop\nWhen?,In 1841.,1841\nWhat?,He said go home",go home\n',
        "double those inside",
        'What?,"""Stop the boat! she said.",Stop\nWhen?,In 1841.,1841\nWhat?,"He said go home""",go home\n',
    ),
    "a marked word": ('What?,"He said \\"Stop\\".",Stop\n', "double those inside", 'What?,"He said ""Stop"".",Stop\n'),
    "a comma": ("Who?,Ada, Bob,Ada\n", "found 4; quote those that contain ','", 'Who?,"Ada, Bob",Ada\n'),
    "an empty field": ("Who?,Ada.\n", "found 2; an empty one, too, needs its ','", "Who?,Ada.,\n"),
    "several places": ("What?,4 crowns or 4 pounds,4\n", "give answer_start", None),
}  # fmt: skip


@pytest.mark.parametrize("name", ADVICE)
def test_what_a_message_advises_helps(tmp_path, name):
    wrong, advice, right = ADVICE[name]
    header = "question,context,answer\n"
    (tmp_path / "a.csv").write_text(header + wrong)
    try:
        reasons = list(convert(tmp_path / "a.csv")[1].values())
    except SquadFormatError as error:
        reasons = [str(error)]
    assert [advice in reason for reason in reasons] == [True]
    if right is None:
        header = header.replace("\n", ",answer_start\n")
        right = wrong.replace("\n", ",12\n")
    (tmp_path / "a.csv").write_text(header + right)
    found, dropped, _ = convert(tmp_path / "a.csv")
    assert (len(found), dropped) == (right.count("\n"), {})


def arrow(path, **columns):
    with pyarrow.OSFile(str(path), "wb") as stream:
        table = pyarrow.table(columns)
        with pyarrow.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)


def question(name):
    return {"id": [name], "question": ["When?"], "context": [CANAL], "answer": ["nine metres"]}


def test_a_folder_of_datasets_is_read_without_its_caches(tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    arrow(saved / "data-00000-of-00001.arrow", **question("saved"))
    arrow(saved / "cache-1f2e3d.arrow", **question("cached"))
    assert list(convert(saved)[0]) == ["saved"]
    arrow(tmp_path / "data-00000-of-00001.arrow", **question("elsewhere"))
    state = {"_data_files": [{"filename": "../data-00000-of-00001.arrow"}], "_split": "train"}  # not followed
    (saved / "state.json").write_text(json.dumps(state))
    (saved / "dataset_info.json").write_text("{}")
    arrow(saved / "tmp1a2b3c.arrow", **question("temporary"))
    assert list(convert(saved)[0]) == ["saved"]
    (saved / "state.json").write_text(
        json.dumps(state | {"_indices_data_files": [{"filename": "indices.arrow"}]})
    )
    with pytest.raises(SquadFormatError, match="flatten_indices"):
        convert(saved)


def test_a_split_in_the_cache_of_datasets_is_read_alone(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "dataset_info.json").write_text("{}")
    arrow(cache / "squad-train-00000-of-00002.arrow", **question("a"))
    arrow(cache / "squad-train-00001-of-00002.arrow", **question("b"))
    arrow(cache / "squad-validation.arrow", **question("c"))
    assert list(convert(cache)[0]) == ["a", "b"]
    assert list(convert(cache, split="validation")[0]) == ["c"]
    with pytest.raises(SquadFormatError, match=r"split 'test'; found squad-train-.*squad-validation"):
        convert(cache, split="test")
    with pytest.raises(SquadFormatError, match=rf"split 'train'; found cache; give {cache}$"):
        convert(tmp_path)


def test_what_is_odd_in_a_table_is_said_each_time_that_it_is_read(tmp_path, capsys):
    table = tmp_path / "mine.csv"
    table.write_text("question,context,answer,is_impossible\nWho?,Ada wrote it.,Ada,true\n")
    said = set()
    for _ in range(2):
        resolve(str(table), "train")
        said.add(capsys.readouterr().err)
    (line,) = said
    assert f"{table}: 1 questions are {BOTH}" in line
