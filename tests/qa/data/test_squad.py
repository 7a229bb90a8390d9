"""Reading SQuAD files: what is accepted, and the place each fault is reported at."""

import gzip
import json
from dataclasses import replace

import pytest

from qa.base.errors import OptionError, SquadFormatError
from qa.data.datasets import resolve
from qa.data.squad import Example, grouped, read_predictions, read_squad, write_squad


def squad(context="A red fox.", qas=None):
    asked = {"id": "q1", "question": "What?", "answers": [{"text": "red fox", "answer_start": 2}]}
    qas = [asked] if qas is None else qas
    return {"data": [{"title": "Foxes", "paragraphs": [{"context": context, "qas": qas}]}]}


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_plain_and_gzip_are_told_apart_by_content(tmp_path):
    plain = read_squad(write(tmp_path / "a.gz", squad()))
    packed = read_squad(write(tmp_path / "b.json", gzip.compress(json.dumps(squad()).encode())))
    assert plain == packed
    assert plain[0].answers[0].text == "red fox"


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    path = write(tmp_path / "old.json", squad())
    (fox,) = read_squad(path)
    with pytest.raises(SquadFormatError):
        write_squad(path, [replace(fox, context="A red hen.")])
    assert read_squad(path)[0].context == "A red fox."
    assert [p.name for p in tmp_path.iterdir()] == ["old.json"]
    fox = replace(fox, context="A red fox!", category="", copy_of="q0")
    goose = Example("q2", "Geese", "Two.", "What?", (), is_impossible=False, unlabelled=True)
    more = [fox, replace(fox, id="q3", title="Red"), goose, replace(fox, id="q4")]
    write_squad(path, more)
    assert read_squad(path, unlabelled=True) == more
    write_squad(path, grouped(more))
    assert [e.id for e in read_squad(path, unlabelled=True)] == ["q1", "q4", "q3", "q2"]


def test_impossible_question_has_no_answers(tmp_path):
    qas = [{"id": "q", "question": "?", "is_impossible": True, "answers": [], "plausible_answers": []}]
    assert read_squad(write(tmp_path / "a", squad(qas=qas)))[0].is_impossible


def test_labels_that_contradict_each_other_are_counted(tmp_path, capsys):
    found = [{"text": "A", "answer_start": 0}]
    given = [(True, []), (True, found), (True, found), (False, []), (False, found), (None, [])]
    qas = [
        {"id": str(i), "question": "?", "answers": answers}
        | ({} if label is None else {"is_impossible": label})
        for i, (label, answers) in enumerate(given)
    ]
    path = write(tmp_path / "a", squad(qas=qas))
    assert [bool(example.answers) for example in read_squad(path)] == [False] * 4 + [True, False]
    both, neither = capsys.readouterr().err.splitlines()
    assert "2 questions with is_impossible true" in both
    assert "1 questions with is_impossible false" in neither
    write_squad(path, read_squad(path))
    capsys.readouterr()
    read_squad(path)
    assert capsys.readouterr().err == "", "it is said once"


def test_a_question_may_have_a_category(tmp_path):
    qas = [QUESTION, QUESTION | {"id": "q2", "category": "Temporal"}]
    assert [e.category for e in read_squad(write(tmp_path / "a", squad(qas=qas)))] == [None, "Temporal"]


def test_empty_context_and_question_are_ordinary(tmp_path):
    qas = [{"id": "q", "question": "", "answers": []}]
    assert read_squad(write(tmp_path / "a", squad(context="", qas=qas)))[0].context == ""


QUESTION = {"id": "q1", "question": "?", "answers": []}


def answer(text, start):
    return [QUESTION | {"answers": [{"text": text, "answer_start": start}]}]


def article(**paragraph):
    return {"data": [{"title": "T", "paragraphs": [paragraph]}]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (gzip.compress(b'{"data": []}', mtime=0)[:-6], "broken gzip"),
        (b'{"data": [', "not valid JSON at line 1, column 11"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b'{"data": [], "title": "\xed\xa0\xbd\xed\xb8\x80"}', "not UTF-8"),
        ([], "expected an object with a list 'data'"),
        ({"data": [3]}, "article 0 '': expected an object with a list 'paragraphs'"),
        (article(qas=[]), "article 0 'T', paragraph 0: expected a text 'context'"),
        (article(context="c"), "paragraph 0: expected an object with a list 'qas'"),
        ({"data": [{"title": 3, "paragraphs": []}]}, "article 0: expected a text 'title'"),
        ({"data": []}, "no questions at all"),
        (squad(qas=[{"question": "?"}]), "question 0: expected a text 'id'"),
        (squad(qas=[{"id": "q1", "answers": []}]), "id 'q1': expected a text 'question'"),
        (squad(qas=[{"id": "q1", "question": "?"}]), "id 'q1': expected an object with a list 'answers'"),
        (squad(qas=[QUESTION | {"is_impossible": "no"}]), "'is_impossible' must be true or false"),
        (squad(qas=[QUESTION | {"category": 3}]), "'category' must be a text where there is"),
        (squad(qas=answer("red fox", "2")), "'answer_start' must be a whole number"),
        (squad(qas=answer("red fox", 3)), "'red fox' is not at offset 3 of its context (found 'ed fox.')"),
        (squad(qas=answer("x", -1)), "is not at offset -1"),
        (squad(qas=answer("A", 0) + answer("A", 0)), "question id 'q1' occurs twice"),
    ],
)
def test_fault_is_named_with_its_place(tmp_path, content, says):
    path = write(tmp_path / "data.json", content)
    with pytest.raises(SquadFormatError) as caught:
        read_squad(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert says in message
    assert "\n" not in message


def test_every_fault_is_named_at_once_and_every_question_without_a_label(tmp_path):
    articles = [
        3,
        {"title": "T", "paragraphs": [{"qas": []}, {"context": "c", "qas": [7, QUESTION | {"id": []}]}]},
    ]
    with pytest.raises(SquadFormatError) as caught:
        read_squad(write(tmp_path / "a.json", {"data": articles}))
    places = ("article 0 ''", "article 1 'T' paragraph 0", "paragraph 1 question 0", "convert rows")
    assert all(place in str(caught.value) for place in places)
    without_label = [QUESTION | {"id": name, "unlabelled": True} for name in "ab"]
    with pytest.raises(SquadFormatError, match="2 questions are unlabelled: a, b"):
        read_squad(write(tmp_path / "b.json", squad(qas=without_label)))


def test_missing_file(tmp_path):
    with pytest.raises(SquadFormatError, match="no such file"):
        read_squad(tmp_path / "absent.json")


def test_a_data_set_of_the_hub_is_to_be_converted():
    with pytest.raises(OptionError, match=r"hub:a/b: .*convert rows hub:a/b --out"):
        resolve("hub:a/b", "train")


@pytest.mark.parametrize("content", [["a"], {"q1": 3}])
def test_predictions_must_map_ids_to_texts(tmp_path, content):
    with pytest.raises(SquadFormatError):
        read_predictions(write(tmp_path / "p.json", content))


@pytest.mark.parametrize("raw", ['{"data": "\\ud800"}', '{"data": 1' + 5000 * "0" + "}", 100_000 * "["])
def test_json_that_python_cannot_hold_is_refused(tmp_path, raw):
    (tmp_path / "f.json").write_text(raw)
    with pytest.raises(SquadFormatError, match=r"f\.json: not valid JSON \("):
        read_squad(tmp_path / "f.json")
