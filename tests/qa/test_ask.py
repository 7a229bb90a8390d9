"""Asking and evaluating: any text is an ordinary input, offsets cut the answer out, and both outputs have
what they promise."""

import io
import json
import re
import subprocess
import sys

import pytest
from places import ROOT

from qa.ask import AskOptions, as_text, ask, snippet
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle
from qa.reader import Answer
from qa.runtime.engines import run_length

PASSAGE = "Programs are old.\nAda Lovelace\twrote the\nfirst in 1843."


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("Who wrote the first program?", "Ada Lovelace wrote it.\r\nIt was for a machine never built."),
        ("Why?", ""),
        ("?", " \n\t\u200b"),
        ("Où? 🤔" * 40, "Le café «Müller» 👩‍👩‍👧‍👦 est à Zu\u0308rich. שלום עולם 東京タワー \u202eabc " * 3),
        ("Which word? " * 600, "word " * 5000),
    ],
    ids=["plain", "empty", "blank", "emoji", "long"],
)
def test_json_has_the_answers_at_their_offsets_in_the_file(make_bundle, tmp_path, capsys, question, passage):
    file = tmp_path / "passage.txt"
    file.write_bytes(passage.encode())
    (answer,) = ask(AskOptions(model=make_bundle(), question=(question,), context=file, json=True, threads=1))
    result = json.loads(capsys.readouterr().out)
    assert (result["answer"], result["start"], result["end"]) == (answer.text, answer.start, answer.end)
    for candidate in result["n_best"]:
        assert passage[candidate["start"] : candidate["end"]] == candidate["text"]
        assert candidate["text"].strip() == candidate["text"] != ""
    if result["n_best"]:
        assert result["answer"] == result["n_best"][0]["text"]
        assert result["probability"] == result["n_best"][0]["probability"]
        assert sum(c["probability"] for c in result["n_best"]) == pytest.approx(1)
    else:
        answer = {"answer": "", "start": None, "score": None, "probability": 1.0}
        assert answer.items() <= result.items()
    times = {f"{part}_ms" for part in ("load", "tokenize", "inference", "decode")}
    assert times | {"null_score", "n_windows", "runtime"} <= result.keys()


def test_several_questions_give_a_list_and_a_block_each(make_bundle, tmp_path, capsys):
    file = tmp_path / "passage.txt"
    file.write_text(PASSAGE, encoding="utf-8")
    questions = ("Who?", "When?")
    answers = ask(AskOptions(model=make_bundle(), question=questions, context=file, json=True, threads=1))
    results = json.loads(capsys.readouterr().out)
    assert [result["question"] for result in results] == list(questions)
    assert [result["answer"] for result in results] == [answer.text for answer in answers]
    assert ask(AskOptions(model=make_bundle(), question=questions, context=file, threads=1)) == answers
    blocks = [as_text(q, a, PASSAGE, str(file)) for q, a in zip(questions, answers, strict=True)]
    assert capsys.readouterr().out == "\n\n".join(blocks) + "\n"


def test_what_was_left_out_of_a_long_text_is_said(make_bundle, tmp_path, capsys):
    file = tmp_path / "passage.txt"
    file.write_text("Ada Lovelace wrote it in 1843. " * 700, encoding="utf-8")
    ask(AskOptions(model=make_bundle(), question=("Who?", "When?"), context=file, json=True, threads=1))
    result = json.loads(capsys.readouterr().out)[0]
    assert result["n_windows"] == 16 < result["n_windows_in_text"]
    ask(AskOptions(model=make_bundle(), question=("Who?",), context=file, threads=1))
    told = f"read the 16 of {result['n_windows_in_text']} windows that share most with the question"
    assert capsys.readouterr().out.endswith(f"  {told}; --read-all reads all\n")
    ask(AskOptions(model=make_bundle(), question=("Who?",), context=file, read_all=True, threads=1))
    assert "windows" not in capsys.readouterr().out


def test_a_question_that_is_cut_is_said(make_bundle, tmp_path, capsys):
    file = tmp_path / "passage.txt"
    file.write_text(PASSAGE, encoding="utf-8")
    longest = open_bundle(make_bundle()).settings.max_question_length
    for n, note in ((longest, False), (longest + 1, True)):
        ask(AskOptions(model=make_bundle(), question=("who " * n,), context=file, threads=1))
        told = f"  question truncated to {longest} of {n} tokens; shorten it\n"
        assert capsys.readouterr().out.endswith(told) == note


def test_the_readme_shows_what_is_printed(capsys):
    """With the shipped model; the share is of this release of LiteRT, so its digits are left out."""
    ask(AskOptions(question=("Who stayed in orbit?",), context=ROOT / "docs" / "apollo.txt", threads=1))
    printed = capsys.readouterr().out.replace(f"{ROOT}/", "")
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("    Who stayed in orbit?\n")[2]
    for line in printed.splitlines()[1:4]:
        assert re.sub(r"[\d.]+%", "%", line) in re.sub(r"[\d.]+%", "%", shown)


def test_the_command_takes_several_questions_and_prints_nothing_but_their_answers(tiny_export):
    """Neither libraries nor LiteRT's C++, which writes past Python, print anything."""
    words = ["--model", tiny_export("tflite").path, "--question", "Who?", "--question", "When?"]
    command = [sys.executable, "-m", "qa.ask", *words]
    done = subprocess.run(command, input=PASSAGE, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    who, when = done.stdout.split("\n\n")
    assert who.startswith("Who?\n  ")
    assert when.startswith("When?\n  ")


LOVELACE = Answer("Lovelace", 22, 30, 4.0, 0.5)
ADA = Answer("Ada Lovelace", 18, 30, 3.0, 0.125)
YEAR = Answer("1843", 50, 54, 2.0, 0.0625)
NOTHING = Answer("", None, None, 3.0, 0.3125)


def given(answer, *alternatives):
    return Answer(answer.text, answer.start, answer.end, answer.score, answer.probability, alternatives)


def test_an_answer_is_shown_in_its_place():
    assert as_text("Who wrote\nit?", given(LOVELACE, NOTHING, ADA, YEAR), PASSAGE, "p.txt").splitlines() == [
        "Who wrote it?",
        "  Lovelace (50.0%)",
        "  p.txt:2, characters 22-30",
        "  Programs are old. Ada >>Lovelace<< wrote the first in 1843.",
        "  or: no answer in this text (31.2%); Ada Lovelace (12.5%); 1843 (6.2%)",
    ]


def test_no_answer_is_said_with_what_would_be_the_best():
    assert as_text("Who?", given(NOTHING, ADA, YEAR), PASSAGE, "p.txt").splitlines() == [
        "Who?",
        "  no answer in this text (31.2%)",
        "  not sure: Ada Lovelace (12.5%)",
        "  p.txt:2, characters 18-30",
        "  Programs are old. >>Ada Lovelace<< wrote the first in 1843.",
        "  or: 1843 (6.2%)",
    ]
    assert as_text("Who?", given(Answer("", None, None, 3.0, 1.0)), "", "p.txt") == (
        "Who?\n  no answer in this text (100.0%)\n  p.txt is empty"
    )
    assert "empty" not in as_text("Who?", given(Answer("", None, None, 3.0, 1.0)), PASSAGE, "p.txt")


def test_a_snippet_is_cut_between_words_and_steers_no_terminal():
    text = "one " * 30 + "\x1b[31mred\x07\u202e" + " two" * 30
    start = text.index("red")
    assert snippet(text, start, start + 3) == f"... {'one ' * 13}[31m>>red<<{' two' * 14} ..."
    assert snippet("東" * 200, 100, 102) == f"... {'東' * 60}>>東東<<{'東' * 60} ..."
    assert snippet("x" * 5000, 0, 5000) == f">>{'x' * 300}...<<"


@pytest.fixture
def stdin(monkeypatch):
    """A function that puts bytes where a pipe would."""
    return lambda raw: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_the_passage_comes_from_standard_input_where_no_file_is_given(make_bundle, stdin, tmp_path, capsys):
    (tmp_path / "p.txt").write_bytes(PASSAGE.encode())
    stdin(PASSAGE.encode())
    piped = ask(AskOptions(model=make_bundle(), question=("Who?",), threads=1))
    assert "(standard input):" in capsys.readouterr().out
    config = AskOptions(model=make_bundle(), question=("Who?",), context=tmp_path / "p.txt", threads=1)
    assert piped == ask(config)


def test_a_passage_that_is_no_text_is_refused(make_bundle, stdin, tmp_path, monkeypatch):
    (tmp_path / "p").write_bytes(b"abc\xff\xfe")
    with pytest.raises(OptionError, match=r"p: not UTF-8 text \(byte 3\)"):
        ask(AskOptions(model=make_bundle(), question=("?",), context=tmp_path / "p"))
    for path, what in ((tmp_path, "is a folder"), (tmp_path / "absent", "no such file")):
        with pytest.raises(OptionError, match=what):
            ask(AskOptions(model=make_bundle(), question=("?",), context=path))
    stdin(b"\xff")
    with pytest.raises(OptionError, match=r"--context -: not UTF-8 text \(byte 0\)"):
        ask(AskOptions(model=make_bundle(), question=("?",)))
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(OptionError, match="standard input is closed"):
        ask(AskOptions(model=make_bundle(), question=("?",)))


def test_smallest_length_that_fits():
    class Fixed:
        lengths = (128, 256, 384)

    assert [run_length(Fixed(), n) for n in (1, 128, 129, 384)] == [128, 128, 256, 384]
