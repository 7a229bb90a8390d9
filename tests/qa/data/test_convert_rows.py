"""Flat records to SQuAD: the same questions from every format, where answers are found, what is left out and said."""

import csv
import gzip
import json

import pyarrow
import pytest
from pyarrow import parquet

from qa.base.errors import OptionError, SquadFormatError
from qa.data.convert.rows import RowsOptions, convert_rows
from qa.data.datasets import check_not_dev, resolve
from qa.data.squad import Answer, read_squad

CONTEXT = "Grüße, the lease ends in May. And the deposit is 900 €; the landlord keeps the deposit until June."
RECORDS = [
    {"id": "a", "question": "When does the lease end?", "context": CONTEXT, "answers": "May"},
    {"id": "b", "question": "How much is it?", "context": CONTEXT, "answers": "900 €"},
    {"id": "c", "question": "Who pays the water?", "context": CONTEXT, "answers": ""},
    {"id": "d", "question": "What is kept?", "context": CONTEXT, "answers": "the deposit"},
    {"id": "e", "question": "What is kept by the bank?", "context": CONTEXT, "answers": "the car"},
]


def write_json_lines(path):
    path.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in RECORDS), encoding="utf-8")


def write_list(path):
    path.write_text(json.dumps(RECORDS), encoding="utf-8")


def write_data(path):
    path.write_text(json.dumps({"version": "1", "data": RECORDS}), encoding="utf-8")


def write_table(delimiter):
    def write(path):
        with open(path, "w", newline="", encoding="utf-8-sig") as stream:
            table = csv.DictWriter(stream, RECORDS[0], delimiter=delimiter)
            table.writeheader()
            table.writerows(RECORDS)

    return write


def write_parquet(path):
    parquet.write_table(pyarrow.Table.from_pylist(RECORDS), path)


def write_folder(path, records=RECORDS):
    """The files that Dataset.save_to_disk writes, of which only the Arrow streams are read."""
    path.mkdir()
    for number, part in enumerate((records[:2], records[2:])):
        table = pyarrow.Table.from_pylist(part)
        file = path / f"data-0000{number}-of-00002.arrow"
        with (
            pyarrow.OSFile(str(file), "wb") as stream,
            pyarrow.ipc.new_stream(stream, table.schema) as writer,
        ):
            writer.write_table(table)


FORMATS = {
    "rows.jsonl": write_json_lines,
    "lines.json": write_json_lines,
    "list.json": write_list,
    "data.json": write_data,
    "comma.csv": write_table(","),
    "semicolon.csv": write_table(";"),
    "rows.tsv": write_table("\t"),
    "rows.parquet": write_parquet,
    "folder": write_folder,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_questions_and_lists_what_it_left_out(tmp_path, name, capsys):
    FORMATS[name](tmp_path / name)
    out = tmp_path / "out.json"
    convert_rows(RowsOptions(str(tmp_path / name), out))
    examples = {e.id: e for e in read_squad(out)}
    assert {i: e.answers for i, e in examples.items()} == {
        "a": (Answer("May", 25),),
        "b": (Answer("900 €", 49),),
        "c": (),
    }
    assert [e.is_impossible for e in examples.values()] == [False, False, True]
    dropped = (tmp_path / "out.json.dropped.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert [line.split("\t")[2:] for line in dropped] == [
        ["d", "answer occurs several times; give answer_start", "the deposit"],
        ["e", "answer does not occur in its context", "the car"],
    ]
    assert "2  items dropped" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"data.json"}))
def test_data_takes_them_directly_and_says_what_is_left_out(tmp_path, monkeypatch, capsys, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    FORMATS[name](tmp_path / name)
    found = read_squad(resolve(str(tmp_path / name), "train"))
    assert [e.id for e in found] == ["a", "b", "c"]
    said = capsys.readouterr()
    assert said.out == ""
    assert "2 records are left out" in said.err
    found_at = resolve(str(tmp_path / name), "train")
    assert found_at.stem == (tmp_path / name).stem
    assert "2 records are left out" in capsys.readouterr().err  # again, though nothing is converted again
    for aside in set(found_at.parent.iterdir()) - {found_at}:
        aside.unlink()  # as a cleaner of the cache may
        assert resolve(str(tmp_path / name), "train") == found_at
        assert "2 records are left out" in capsys.readouterr().err


def test_scoring_takes_the_first_place_of_an_answer(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_table(",")(tmp_path / "rows.csv")
    examples = {e.id: e for e in read_squad(resolve(str(tmp_path / "rows.csv"), "dev"))}
    assert list(examples) == ["a", "b", "c", "d"]
    (answer,) = examples["d"].answers
    assert answer.start == examples["d"].context.index("the deposit")
    assert "1 records are left out" in capsys.readouterr().err


def test_scoring_takes_the_place_that_a_known_counting_gives(tmp_path, monkeypatch):
    """In UTF-16, the ship counts twice."""
    monkeypatch.setenv("HOME", str(tmp_path))
    context = "\U0001f6a2 The fee is 4 crowns for dogs. For cats the fee is 4 crowns."
    starts = [context.index("dogs"), context.rindex("4 crowns")]
    answers = [
        {"text": context[s : s + n], "answer_start": s + 1} for s, n in zip(starts, (4, 8), strict=True)
    ]
    rows = [
        {"id": str(n), "question": "?", "context": context, "answers": [a]} for n, a in enumerate(answers)
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    examples = read_squad(resolve(str(tmp_path / "rows.json"), "dev"))
    assert [answer.start for e in examples for answer in e.answers] == starts


def test_a_gzipped_table_is_read_too(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_table(",")(tmp_path / "rows.csv")
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    assert [e.id for e in read_squad(resolve(str(tmp_path / "rows.csv.gz"), "train"))] == ["a", "b", "c"]


def test_separators_of_unicode_stand_inside_a_text_and_a_passage_has_any_length(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    context = "Bob\u2028ran\u0085home. " + "x" * 200_000
    row = {"question": "Who ran?", "context": context, "answer": "Bob"}
    lines = tmp_path / "rows.jsonl"
    rows = [row, row | {"question": "Who?"}]
    lines.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
    with open(tmp_path / "rows.csv", "w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, row)
        table.writeheader()
        table.writerow(row)
    for file, n in ((lines, 2), (tmp_path / "rows.csv", 1)):
        found = read_squad(resolve(str(file), "train"))
        assert [(e.context, e.answers) for e in found] == [(context, (Answer("Bob", 0),))] * n


def damaged_gzip(content):
    """Random text, which deflate stores almost as it is, with eight bytes changed in its middle."""
    packed = bytearray(gzip.compress(content))
    middle = len(packed) // 2
    packed[middle : middle + 8] = bytes(255 - byte for byte in packed[middle : middle + 8])
    return bytes(packed)


SQUAD = json.dumps({"data": [{"paragraphs": []}], "noise": [i * 7919 % 10007 for i in range(20000)]}).encode()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("dev.json.gz", damaged_gzip(SQUAD), "broken gzip"),
        ("dev.json.gz", gzip.compress(SQUAD)[:-900], "broken gzip"),
        ("dev.json", b"[" * 200_000, "not valid JSON"),
        ("dev.json", b'{"question":' * 200_000, "not valid JSON"),
        (
            "rows.jsonl",
            b'{"question": "who\\ud800?", "context": "c", "answer": ""}',
            "half a surrogate",
        ),
    ],
    ids=["gzip damaged", "gzip cut", "list too deep", "object too deep", "half a surrogate"],
)
def test_data_that_is_broken_inside_is_refused_in_one_line(tmp_path, monkeypatch, name, content, message):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SquadFormatError, match=f"{path}: .*{message}"):
        read_squad(resolve(str(path), "dev"))
    if name.endswith(".gz"):
        with pytest.raises(SquadFormatError, match=f"{path}: {message}"):
            check_not_dev(path, "--data")


def test_a_conversion_that_fails_leaves_the_earlier_output_and_its_log(tmp_path):
    converted(tmp_path, record(answer="May"), record(answer="Berlin", question="Where?"))
    before = {path.name: path.read_bytes() for path in tmp_path.glob("out.json*")}
    assert before.keys() == {"out.json", "out.json.dropped.tsv"}
    with pytest.raises(SquadFormatError):
        converted(tmp_path, record(answer="May", question="who\ud800?"))
    assert {path.name: path.read_bytes() for path in tmp_path.glob("out.json*")} == before


def record(**changes):
    return {"question": "What is kept?", "context": CONTEXT, **changes}


def converted(tmp_path, *records):
    (tmp_path / "in.json").write_text(json.dumps(list(records)), encoding="utf-8")
    convert_rows(RowsOptions(str(tmp_path / "in.json"), tmp_path / "out.json"))
    return [(e.id, e.answers) for e in read_squad(tmp_path / "out.json")]


def test_an_empty_title_is_none_and_a_number_is_one(tmp_path):
    given = [record(id=n, answer="May", title=title) for n, title in enumerate((float("nan"), 0, None, "T"))]
    converted(tmp_path, *given)
    assert [e.title for e in sorted(read_squad(tmp_path / "out.json"), key=lambda e: e.id)] == [
        "",
        "0",
        "",
        "T",
    ]


def test_a_text_that_is_written_as_a_list_and_stands_so_in_its_context_is_left_out(tmp_path):
    context = "The call list() gives [] here. See [12]. It ends in May."
    given = [
        record(context=context, id=n, answer=answer) for n, answer in enumerate(("[]", "[12]", '["May"]'))
    ]
    ((number, answers),) = converted(tmp_path, *given)
    assert (number, [answer.text for answer in answers]) == ("2", ["May"])


def test_half_a_character_in_a_cell_is_listed(tmp_path):
    (tmp_path / "in.csv").write_text(
        'question,context,answer\nWhen?,It ends in May.,"[""\\ud83d""]"\nWhen?,It ends in May.,May\n'
    )
    convert_rows(RowsOptions(str(tmp_path / "in.csv"), tmp_path / "out.json"))
    assert len(read_squad(tmp_path / "out.json")) == 1


def test_half_a_character_in_a_question_costs_no_other_question(tmp_path):
    asked = [
        {"id": str(n), "question": f"When{end}?", "answers": []} for n, end in enumerate(("", "\\ud83d"))
    ]
    paragraph = {"context": "It ends in May.", "qas": asked}
    squad = json.dumps({"data": [{"title": "", "paragraphs": [paragraph]}]}).replace("\\\\", "\\")
    (tmp_path / "in.json").write_text(squad)
    convert_rows(RowsOptions(str(tmp_path / "in.json"), tmp_path / "out.json"))
    assert [e.id for e in read_squad(tmp_path / "out.json")] == ["0"]


def test_records_without_an_answer_column_or_with_a_known_id_are_left_out(tmp_path):
    given = [
        record(id=7, answer="May"),
        record(id=7, answer="June"),
        record(),
        record(question=3, answer="May"),
        record(context=" ", answer=""),
    ]
    assert converted(tmp_path, *given) == [("7", (Answer("May", 25),))]
    listed = (tmp_path / "out.json.dropped.tsv").read_text()
    assert all(
        word in listed for word in ("id occurs twice", "no answer given", "not a text", "context is empty")
    )


def test_where_nothing_can_be_used_nothing_is_written(tmp_path):
    told = (
        r"no question could be converted: is_impossible is neither true nor false; write one of them \(2\), answer does not occur "
        r"in its context \(1\); for example \[1\] 'peut-être', \[0\] Bonn am Rhein$"
    )
    with pytest.raises(SquadFormatError, match=told):
        converted(
            tmp_path,
            record(answer="Bonn\nam Rhein"),
            record(is_impossible="peut-être"),
            record(is_impossible="vielleicht"),
        )
    assert not (tmp_path / "out.json").exists()


def test_a_folder_without_arrow_files_and_a_missing_library_are_explained(tmp_path):
    with pytest.raises(SquadFormatError, match=r"no \.arrow files"):
        convert_rows(RowsOptions(str(tmp_path), tmp_path / "out.json"))
    with pytest.raises(SquadFormatError, match=r"a folder without \.arrow files"):
        resolve(str(tmp_path), "dev")
    with pytest.raises(OptionError, match="hub:x"):
        convert_rows(RowsOptions("hub:x", tmp_path / "out.json"))


def test_a_folder_of_datasets_is_converted_again_when_it_names_other_files(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "folder"
    write_folder(folder)
    assert [e.id for e in read_squad(resolve(str(folder), "train"))] == ["a", "b", "c"]
    state = {"_data_files": [{"filename": "data-00000-of-00002.arrow"}]}
    (folder / "state.json").write_text(json.dumps(state))
    assert [e.id for e in read_squad(resolve(str(folder), "train"))] == ["a", "b"]


def test_a_folder_of_datasets_may_hold_paragraphs_of_squad(tmp_path):
    asked = {"id": "a", "question": "When?", "answers": [{"text": "May", "answer_start": 25}]}
    write_folder(tmp_path / "folder", [{"paragraphs": [{"context": CONTEXT, "qas": [asked]}]}])
    convert_rows(RowsOptions(str(tmp_path / "folder"), tmp_path / "out.json"))
    assert [e.id for e in read_squad(tmp_path / "out.json")] == ["a"]


def test_squad_errors_name_the_command(tmp_path):
    (tmp_path / "a.json").write_text('{"data": [{"question": "x"}]}')
    with pytest.raises(SquadFormatError, match=r"qa\.data\.convert rows"):
        read_squad(tmp_path / "a.json")
