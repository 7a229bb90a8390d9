"""Files of annotation tools and of other data sets: which questions `convert rows` reads in them, and what it lists."""

import gzip
import json

import pytest

from qa.base.errors import OptionError, SquadFormatError
from qa.data.convert.rows import RowsOptions, convert_rows
from qa.data.datasets import check_not_dev, data_reference, resolve
from qa.data.sample import SampleOptions, write_sample
from qa.data.squad import Answer, read_squad

CANAL = "The canal was opened in 1841. Two locks lift boats by nine metres, and 1841 boats pass a year."
YEAR = Answer("1841", 24)


def converted(tmp_path, name, content, **options):
    """The questions by id, and (item, reason) of what was left out."""
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    out = tmp_path / "out.json"
    convert_rows(RowsOptions(str(tmp_path / name), out, **options))
    dropped = (tmp_path / "out.json.dropped.tsv").read_text(encoding="utf-8").splitlines()[1:]
    found = {e.id: (e.question, e.context, e.answers) for e in read_squad(out)}
    return found, [tuple(line.split("\t")[2:4]) for line in dropped]


def lines(*objects):
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in objects).encode()


def squad(*qas, **article):
    return {"data": [{**article, "paragraphs": [{"context": CANAL, "qas": list(qas), "document_id": 3}]}]}


def asked(**fields):
    return {"question": "When?", "answers": [{"text": "1841", "answer_start": 24}], **fields}


def test_squad_json_in_utf_16_is_read_as_training_reads_it(tmp_path):
    """Else the advice of a message of training would fail."""
    content = json.dumps(squad(asked(id="a"), asked(id="a"))).encode("utf-16")
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(SquadFormatError, match="convert rows converts what it can"):
        read_squad(tmp_path / "a.json")
    found, dropped = converted(tmp_path, "a.json", content)
    assert (list(found), dropped) == (["a"], [("a", "id occurs twice")])


def test_mrqa_has_inclusive_ends_and_answers_in_another_case(tmp_path):
    context = "[TLE] Canal [PAR] The canal was opened in May 1841. MAY is warm."
    qas = [
        {
            "qid": "m1",
            "question": "When was it opened?",
            "question_tokens": [["When", 0], ["was", 5], ["it", 9], ["opened", 12], ["?", 18]],
            "detected_answers": [{"text": "may 1841", "char_spans": [[42, 49]], "token_spans": [[11, 12]]}],
            "answers": ["May 1841"],
        },
        {
            "qid": "m2",
            "question": "Which month?",
            "detected_answers": [{"text": "may", "char_spans": [[42, 44], [52, 54]], "token_spans": [[11, 11], [14, 14]]}],
            "answers": ["May"],
        },
        {"qid": "m3", "question": "Who paid?", "detected_answers": [], "answers": ["the town"]},
        {"qid": "m4", "question": "When?", "detected_answers": [{"text": "may", "char_spans": [42]}], "answers": ["May"]},
        {"qid": "m5", "question": "When?", "detected_answers": [{"text": 1841, "char_spans": [[46, 49]]}]},
    ]  # fmt: skip
    content = lines(
        {"header": {"dataset": "Canals", "mrqa_split": "dev"}},
        {"id": "", "context": context, "context_tokens": [["[TLE]", 0]], "qas": qas},
    )
    found, dropped = converted(tmp_path, "mrqa.jsonl.gz", gzip.compress(content))
    assert {i: answers for i, (_, _, answers) in found.items()} == {
        "m1": (Answer("May 1841", 42),),
        "m2": (Answer("May", 42), Answer("MAY", 52)),
    }
    assert [item for item, _ in dropped] == ["m3", "m4", "m5"]


def test_haystack_and_covid_qa_write_numbers_as_ids_and_answers_that_are_not_given(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    given = asked(id=262, is_impossible=False)
    missing = {**asked(), "answers": [{"text": "", "answer_start": 0, "answer_category": "NOT_GIVEN"}]}
    torn = {**asked(id=9), "answers": [{"text": "1841", "answer_start": 24, "answer_category": "NOT_GIVEN"}]}
    found, dropped = converted(tmp_path, "h.json", squad(given, missing, torn, title=None))
    assert {i: answers for i, (_, _, answers) in found.items()} == {
        "262": (YEAR,),
        "[0].paragraphs[0].qas[1]": (),
    }
    assert [item for item, _ in dropped] == ["9"]
    (tmp_path / "direct.json").write_text(json.dumps(squad(given, title=None)))
    assert [(e.id, e.title) for e in read_squad(resolve(str(tmp_path / "direct.json"), "dev"))] == [
        ("262", "")
    ]


def test_haystack_csv_has_its_own_names(tmp_path):
    table = (
        ",title,context_text,question_text,id,answer_text,answer_start,is_impossible\n"
        f'0,Canal,"{CANAL}",When?,4711,1841,24.0,False\n1,Canal,"{CANAL}",Who?,4712,,,True\n'
    )
    found, dropped = converted(tmp_path, "h.csv", table.encode())
    assert found == {"4711": ("When?", CANAL, (YEAR,)), "4712": ("Who?", CANAL, ())}
    assert dropped == []


def task(number, *spans, cancelled=False, **data):
    """A task of Label Studio as its JSON export writes it, with one annotation."""
    result = [
        {"value": {**span, "labels": ["Answer"]}, "id": f"r{n}", "from_name": "answer", "to_name": "text",
         "type": "labels", "origin": "manual"}
        for n, span in enumerate(spans)
    ]  # fmt: skip
    annotation = {"id": 10 + number, "completed_by": 1, "result": result, "was_cancelled": cancelled,
                  "ground_truth": False, "lead_time": 4.3}  # fmt: skip
    data = {"text": CANAL, "question": "When?", **data}
    return {"id": number, "annotations": [annotation], "file_upload": "a.json", "drafts": [], "predictions": [],
            "data": data, "meta": {}, "project": 1}  # fmt: skip


def test_label_studio_marks_spans_in_a_text(tmp_path):
    year = {"start": 24, "end": 28, "text": "1841"}
    split = task(6, year)
    split["annotations"] += task(7)["annotations"]
    tasks = [
        task(1, year),
        task(2, {"start": 24, "end": 28}),  # older versions write no text
        task(3),
        task(4, year, cancelled=True),
        task(5) | {"annotations": []},
        split,
        task(8, {"start": 3, "end": 5}, text="🚢 It opened."),  # in UTF-16 units or in characters?
        task(9),
    ]
    tasks[-1]["annotations"][0]["result"] = [{"type": "textarea", "value": {"text": ["1841"]}}]
    found, dropped = converted(tmp_path, "ls.json", tasks)
    assert {i: answers for i, (_, _, answers) in found.items()} == {"1": (YEAR,), "2": (YEAR,), "3": ()}
    assert [item for item, _ in dropped] == ["4", "5", "6", "8", "9"]


def test_spans_of_several_labels_are_no_answers(tmp_path):
    labels = [{"start": 24, "end": 28, "label": label} for label in ("ANSWER", "EVIDENCE")]
    tasks = [
        {"text": CANAL, "question": "When?", "spans": labels},
        {"text": CANAL, "question": "When?", "spans": labels[:1]},
    ]
    found, dropped = converted(tmp_path, "a.jsonl", lines(*tasks))
    assert (found, len(dropped)) == ({"line-2": ("When?", CANAL, (YEAR,))}, 1)
    assert "ANSWER, EVIDENCE" in dropped[0][1]


def test_a_flat_record_may_have_paragraphs_of_its_own(tmp_path):
    row = {
        "id": "a",
        "question": "When?",
        "context": CANAL,
        "answer": "nine metres",
        "paragraphs": [{"idx": 0}],
    }
    assert list(converted(tmp_path, "a.jsonl", lines(row))[0]) == ["a"]


def test_prodigy_accepts_or_rejects(tmp_path):
    hashes = {"_input_hash": -1, "_task_hash": 1, "_view_id": "spans_manual"}
    span = {"start": 24, "end": 28, "token_start": 5, "token_end": 5, "label": "ANSWER"}
    tasks = [
        {"text": CANAL, "question": "When?", "spans": [span], "answer": "accept", **hashes},
        {"text": CANAL, "meta": {"question": "Who?", "id": "p2"}, "spans": [], "answer": "accept", **hashes},
        {"text": CANAL, "question": "When?", "spans": [span], "answer": "reject", **hashes},
        {"text": CANAL, "question": "When?", "answer": "ignore", **hashes},
    ]
    found, dropped = converted(tmp_path, "prodigy.jsonl", lines(*tasks))
    assert found == {"line-1": ("When?", CANAL, (YEAR,)), "p2": ("Who?", CANAL, ())}
    assert [item for item, _ in dropped] == ["line-3", "line-4"]


def test_what_squad_json_has_besides_its_answers_is_kept(tmp_path):
    qas = [
        asked(id="a", category="Temporal", is_impossible="FALSE"),
        {"id": "b", "question": "Who?", "answers": [], "unlabelled": True},
        asked(id="c", copy_of="a"),
        asked(id="d", category=["Temporal"]),
    ]
    (tmp_path / "in.json").write_text(json.dumps(squad(*qas, title="Canal")))
    convert_rows(RowsOptions(str(tmp_path / "in.json"), tmp_path / "out.json"))
    found = read_squad(tmp_path / "out.json", unlabelled=True)
    assert [(e.id, e.title, e.category, e.unlabelled, e.copy_of) for e in found] == [
        ("a", "Canal", "Temporal", False, None),
        ("b", "Canal", None, True, None),
        ("c", "Canal", None, False, "a"),
    ]


def test_a_converted_development_part_is_still_known_as_one(tmp_path):
    """So are a file converted twice, a converted sample, and a sample of a part that was packed anew."""
    dev = resolve("embedded", "dev")
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(gzip.decompress(dev.read_bytes()), 1))
    convert_rows(RowsOptions(str(dev), tmp_path / "mine.json"))
    convert_rows(RowsOptions(str(tmp_path / "mine.json"), tmp_path / "twice.json"))
    write_sample(SampleOptions(tmp_path / "sample.json", 20))
    convert_rows(RowsOptions(str(tmp_path / "sample.json"), tmp_path / "less.json"))
    write_sample(SampleOptions(tmp_path / "of-packed.json", 20, str(tmp_path / "packed.json.gz")))
    for name in ("mine", "twice", "sample", "less", "of-packed"):
        with pytest.raises(OptionError, match="embedded"):
            check_not_dev(tmp_path / f"{name}.json", "--data")
    convert_rows(RowsOptions(str(resolve("embedded", "train")), tmp_path / "train.json"))
    check_not_dev(tmp_path / "train.json", "--data")
    assert data_reference(tmp_path / "train.json")["made_from"]["dataset"] == "embedded"


def test_every_fault_of_squad_json_is_named_and_convert_takes_the_file(tmp_path):
    qas = [asked(id=f"q{n}", answers=[{"text": "nine metres", "answer_start": 54 + n}]) for n in range(40)]
    qas += [asked(id="empty", answers=[{"text": " ", "answer_start": 0}]), asked(), asked(id="q0")]
    with pytest.raises(SquadFormatError) as caught:
        read_squad(write(tmp_path / "a.json", squad(*qas)))
    message = str(caught.value)
    assert all(part in message for part in ("id 'q1'", "q2, q3", "21 more", "convert rows"))
    assert "\n" not in message
    found, dropped = converted(tmp_path, "a.json", squad(*qas))
    assert list(found) == ["q0", "empty", "[0].paragraphs[0].qas[41]"]
    assert [item for item, _ in dropped] == [*(f"q{n}" for n in range(1, 40)), "q0"]
    repaired, dropped = converted(tmp_path, "a.json", squad(*qas), repair=True)
    assert len(repaired) == 42
    assert {answers for i, (_, _, answers) in repaired.items() if i[0] == "q"} == {
        (Answer("nine metres", 54),)
    }
    assert dropped == [("q0", "id occurs twice")]


def write(path, content):
    path.write_text(json.dumps(content))
    return path


def test_answers_of_an_impossible_question_are_counted_on_stderr(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    both = asked(id="a", is_impossible=True)
    found = read_squad(write(tmp_path / "a.json", squad(both, asked(id="b", answers=[], is_impossible=True))))
    assert [e.answers for e in found] == [(), ()]
    assert "1 questions" in capsys.readouterr().err
    flat = [both | {"context": CANAL}, asked(id="b", context=CANAL)]
    found = read_squad(resolve(str(write(tmp_path / "rows.json", flat)), "dev"))
    assert [e.answers for e in found] == [(), (YEAR,)]
    assert "1 questions" in capsys.readouterr().err


@pytest.mark.parametrize(
    "first", [{"id": "0", "context": "x " * 700_000}, {"header": {}}, {"text": "t", "spans": []}]
)
def test_json_lines_are_told_from_squad_json_whatever_the_name(tmp_path, monkeypatch, first):
    monkeypatch.setenv("HOME", str(tmp_path))
    content = lines(first, {"question": "When?", "context": CANAL, "answer": "nine metres"})
    (tmp_path / "rows.json").write_bytes(content)
    assert [e.id for e in read_squad(resolve(str(tmp_path / "rows.json"), "dev"))] == ["line-2"]


def test_long_squad_json_on_one_line_is_taken_as_it_is(tmp_path):
    path = write(tmp_path / "a.json", {"version": "1", **squad(asked(id="a"), noise="x" * 1_500_000)})
    assert resolve(str(path), "dev") == path
