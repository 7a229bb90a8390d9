"""Asking and evaluating: any text is an ordinary input, offsets cut the answer out, and both outputs have
what they promise."""

import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from itertools import pairwise

import pytest
from places import ROOT

from qa.answer_formats import answer_text, snippet
from qa.ask import AskOptions, ask
from qa.base.cli import run_with
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle
from qa.documents import Document, Texts, read_texts
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
    (answer,) = ask(
        AskOptions(model=make_bundle(), question=(question,), context=(str(file),), json=True, threads=1)
    )
    result = json.loads(capsys.readouterr().out)
    assert (result["answer"], result["start"], result["end"]) == (answer.text, answer.start, answer.end)
    for candidate in result["n_best"]:
        assert passage[candidate["start"] : candidate["end"]] == candidate["text"]
        assert candidate["text"].strip() == candidate["text"] != ""
    if result["n_best"]:
        assert result["answer"] == result["n_best"][0]["text"]
        assert result["probability"] == result["n_best"][0]["probability"]
        assert 0 < sum(c["probability"] for c in result["n_best"]) <= 1 + 1e-9
        places = sorted((c["start"], c["end"]) for c in result["n_best"])
        assert all(end <= start for (_, end), (start, _) in pairwise(places))
    else:
        answer = {"answer": "", "start": None, "score": None, "probability": 1.0}
        assert answer.items() <= result.items()
    times = {f"{part}_ms" for part in ("load", "tokenize", "inference", "decode")}
    assert times | {"null_score", "n_windows", "runtime"} <= result.keys()


def test_several_questions_give_a_list_and_a_block_each(make_bundle, tmp_path, capsys):
    file = tmp_path / "passage.txt"
    file.write_text(PASSAGE, encoding="utf-8")
    questions = ("Who?", "When?")
    answers = ask(
        AskOptions(model=make_bundle(), question=questions, context=(str(file),), json=True, threads=1)
    )
    results = json.loads(capsys.readouterr().out)
    assert [result["question"] for result in results] == list(questions)
    assert [result["answer"] for result in results] == [answer.text for answer in answers]
    assert (
        ask(AskOptions(model=make_bundle(), question=questions, context=(str(file),), threads=1)) == answers
    )
    texts = read_texts([str(file)])
    blocks = [answer_text(q, a, texts) for q, a in zip(questions, answers, strict=True)]
    assert capsys.readouterr().out == "\n\n".join(blocks) + "\n"


def test_what_was_left_out_of_a_long_text_is_said(make_bundle, tmp_path, capsys):
    file = tmp_path / "passage.txt"
    file.write_text("Ada Lovelace wrote it in 1843. " * 700, encoding="utf-8")
    ask(
        AskOptions(
            model=make_bundle(), question=("Who?", "When?"), context=(str(file),), json=True, threads=1
        )
    )
    result = json.loads(capsys.readouterr().out)[0]
    assert result["n_windows"] == 16 < result["n_windows_in_text"]
    ask(AskOptions(model=make_bundle(), question=("Who?",), context=(str(file),), threads=1))
    told = f"read the 16 of {result['n_windows_in_text']} windows that share most with the question"
    assert capsys.readouterr().out.endswith(f"  {told}; --read-all reads all\n")
    ask(AskOptions(model=make_bundle(), question=("Who?",), context=(str(file),), read_all=True, threads=1))
    assert "windows" not in capsys.readouterr().out


def test_a_question_that_is_cut_is_said(make_bundle, tmp_path, capsys):
    file = tmp_path / "passage.txt"
    file.write_text(PASSAGE, encoding="utf-8")
    longest = open_bundle(make_bundle()).settings.max_question_length
    for n, note in ((longest, False), (longest + 1, True)):
        ask(AskOptions(model=make_bundle(), question=("who " * n,), context=(str(file),), threads=1))
        told = f"  question truncated to {longest} of {n} tokens; shorten it\n"
        assert capsys.readouterr().out.endswith(told) == note


def test_the_readme_shows_what_is_printed(capsys):
    """With the shipped model; the share is of this release of LiteRT, so its digits are left out."""
    ask(
        AskOptions(
            question=("Who stayed in orbit?",), context=(str(ROOT / "docs" / "apollo.txt"),), threads=1
        )
    )
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
    for closed, wanted in (("2>&-", done.stdout), (">&-", ""), ("1>&- 2>&-", "")):
        line = f"{shlex.join(map(str, command))} {closed}"
        again = subprocess.run(line, shell=True, input=PASSAGE, capture_output=True, text=True, check=True)
        assert (again.stdout, again.stderr) == (wanted, "")


LOVELACE = Answer("Lovelace", 22, 30, 4.0, 0.5)
ADA = Answer("Ada Lovelace", 18, 30, 3.0, 0.125)
YEAR = Answer("1843", 50, 54, 2.0, 0.0625)
NOTHING = Answer("", None, None, 3.0, 0.3125)


def texts_of(**contents):
    return Texts([Document(f"{name}.txt", text) for name, text in contents.items()])


def given(answer, *alternatives):
    return Answer(answer.text, answer.start, answer.end, answer.score, answer.probability, alternatives)


def test_an_answer_is_shown_in_its_place():
    assert answer_text(
        "Who wrote\nit?", given(LOVELACE, NOTHING, YEAR), texts_of(p=PASSAGE)
    ).splitlines() == [
        "Who wrote it?",
        "  Lovelace (50.0%)",
        "  p.txt:2, characters 22-30",
        "  Programs are old. Ada >>Lovelace<< wrote the first in 1843.",
        "  or: no answer in this text (31.2%); 1843 (6.2%)",
    ]


def test_no_answer_is_said_with_what_would_be_the_best():
    assert answer_text("Who?", given(NOTHING, YEAR, ADA), texts_of(p=PASSAGE)).splitlines() == [
        "Who?",
        "  no answer in this text (31.2%)",
        "  not sure: Ada Lovelace (12.5%)",
        "  p.txt:2, characters 18-30",
        "  Programs are old. >>Ada Lovelace<< wrote the first in 1843.",
        "  or: 1843 (6.2%)",
    ]
    nothing = given(Answer("", None, None, 3.0, 1.0))
    shown = "Who?\n  no answer in this text (100.0%)\n  p.txt: "
    assert answer_text("Who?", nothing, texts_of(p="")) == f"{shown}empty"
    assert answer_text("Who?", nothing, texts_of(p=PASSAGE)).startswith(f"{shown}has no span")


def test_each_answer_of_several_texts_has_its_place():
    texts = texts_of(a=PASSAGE, b="Programs.\nIn 1842")
    other = Answer("1842", 70, 74, 1.0, 0.25)
    shown = answer_text("When?", given(YEAR, NOTHING, other), texts).splitlines()
    assert shown[2] == "  a.txt:3, characters 50-54"
    assert shown[4] == "  or: no answer in these texts (31.2%); 1842 (25.0%, b.txt:2)"
    assert answer_text("When?", given(other), texts).splitlines()[2] == "  b.txt:2, characters 13-17"


def test_a_snippet_is_cut_between_words_and_steers_no_terminal():
    text = "one " * 30 + "\x1b[31mred\x07\u202e" + " two" * 30
    start = text.index("red")
    assert snippet(text, start, start + 3) == f"... {'one ' * 13}[31m>>red<<{' two' * 14} ..."
    assert snippet("東" * 200, 100, 102) == f"... {'東' * 60}>>東東<<{'東' * 60} ..."
    assert snippet("x" * 5000, 0, 5000) == f">>{'x' * 300}...<<"
    joined = "می\u200cخواهم 👩\u200d👧 \U0001fae9"  # the last is newer than this Python's Unicode may be
    assert snippet(joined, 0, len(joined)) == f">>{joined}<<"


@pytest.fixture
def stdin(monkeypatch):
    """A function that puts bytes where a pipe would."""
    return lambda raw: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_the_passage_comes_from_standard_input_where_no_file_is_given(make_bundle, stdin, tmp_path, capsys):
    (tmp_path / "p.txt").write_bytes(PASSAGE.encode())
    stdin(PASSAGE.encode())
    piped = ask(AskOptions(model=make_bundle(), question=("Who?",), threads=1))
    assert "(standard input):" in capsys.readouterr().out
    config = AskOptions(
        model=make_bundle(), question=("Who?",), context=(str(tmp_path / "p.txt"),), threads=1
    )
    assert piped == ask(config)


def test_a_passage_that_is_no_text_is_refused(make_bundle, stdin, tmp_path, monkeypatch):
    (tmp_path / "p").write_bytes(b"abc\xff\xfe")
    with pytest.raises(OptionError, match=r"p: not UTF-8 text \(byte 3\)"):
        ask(AskOptions(model=make_bundle(), question=("?",), context=(str(tmp_path / "p"),)))
    for path, what in ((tmp_path, "has no text; .*p: not UTF-8"), (tmp_path / "absent", "no such file")):
        with pytest.raises(OptionError, match=what):
            ask(AskOptions(model=make_bundle(), question=("?",), context=(str(path),)))
    stdin(b"\xff")
    with pytest.raises(OptionError, match=r"\(standard input\): not UTF-8 text \(byte 0\)"):
        ask(AskOptions(model=make_bundle(), question=("?",)))
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(OptionError, match="standard input is closed"):
        ask(AskOptions(model=make_bundle(), question=("?",)))


QUESTION = "Who stayed in orbit?"


@pytest.mark.parametrize(
    ("words", "texts", "questions"),
    [
        (f"p.txt '{QUESTION}'", ["p.txt"], [QUESTION]),
        ("p.txt folder 'tell me who stayed'", ["p.txt", "folder"], ["tell me who stayed"]),
        ("p.txt Why?", ["p.txt"], ["Why?"]),
        ("p.txt 谁留在轨道上？", ["p.txt"], ["谁留在轨道上？"]),
        ("p.txt من؟", ["p.txt"], ["من؟"]),
        ("p.txt folder", ["p.txt", "folder"], []),
        ("'How long?'", ["How long?"], []),  # a file of that name exists
        ("Why?", ["-"], ["Why?"]),
        ("- Why?", ["-"], ["Why?"]),
        ("--question p.txt p.txt", ["p.txt"], ["p.txt"]),
        ("--context a --context b Why?", ["a", "b"], ["Why?"]),
        ("--context a p.txt", ["a", "p.txt"], []),
        ("--context a --question b", ["a"], ["b"]),
        ("p.txt --format=json --no-read-all Why?", ["p.txt"], ["Why?"]),
        ("--mode strict p.txt --json Why?", ["p.txt"], ["Why?"]),
        (f"p.txt '{'who ' * 90}?'", ["p.txt"], [f"{'who ' * 90}?"]),
        ("p.txt absent.txt", "absent.txt: no such file or folder; if it is the question", None),
        ("p.txt 'my absent notes.txt'", "my absent notes.txt: no such file or folder; if it", None),
        ("p.txt 'my absent page.xhtml'", "my absent page.xhtml: no such file or folder; if it", None),
        ("absent", "absent: no such file or folder; if it is the question", None),
        ("-", "no question, and standard input is the text", None),
        ("p.txt ''", "TEXT must be more than spaces, got ''", None),
        ("", "TEXT must be a file or folder, with a question behind it", None),
        ("p.txt Why? --json --format answer", "--json cannot be combined with --format answer", None),
    ],
)
def test_the_last_word_is_the_question_unless_it_is_a_file(
    words, texts, questions, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("p.txt", "How long?"):
        (tmp_path / name).write_text(PASSAGE)
    got = []

    def work():
        return lambda options: got.extend(options.texts_and_questions())

    if isinstance(texts, str):
        with pytest.raises(SystemExit):
            run_with(AskOptions, work, shlex.split(words))
        assert capsys.readouterr().err.startswith(f"error: {texts}")
    else:
        run_with(AskOptions, work, shlex.split(words))
        assert got == [texts, questions]


APOLLO = ROOT / "docs" / "apollo.txt"


@pytest.mark.parametrize(
    ("words", "typed", "code", "printed"),
    [
        ([str(APOLLO), QUESTION], "", 0, ["Michael Collins"]),
        ([str(APOLLO), "Who painted the Mona Lisa?"], "", 1, [""]),
        ([QUESTION], APOLLO.read_text(), 0, ["Michael Collins"]),
        ([str(APOLLO)], f"{QUESTION}\n\nWho painted the Mona Lisa?\n", 0, ["Michael Collins", ""]),
        ([str(APOLLO)], "", 2, []),
        ([str(APOLLO), "Who?", "--threads", "0"], "", 2, []),
    ],
)
def test_the_exit_code_says_whether_there_is_an_answer(words, typed, code, printed, stdin, capsys):
    stdin(typed.encode())
    status = 0
    try:
        run_command("ask", [*words, "--format", "answer"])
    except SystemExit as end:
        status = end.code
    assert status == code
    assert capsys.readouterr().out.splitlines() == printed


def test_json_has_only_ascii_where_the_terminal_has_not_all_characters(make_bundle, monkeypatch, tmp_path):
    file = tmp_path / "p.txt"
    file.write_text("Zoë saw a 🦊 in Þórshöfn.", encoding="utf-8")
    written = io.BytesIO()
    monkeypatch.setattr(
        sys, "stdout", io.TextIOWrapper(written, encoding="latin-1", errors="backslashreplace")
    )
    options = {"model": make_bundle(), "context": (str(file),), "json": True, "threads": 1}
    ask(AskOptions(question=("Who saw a 🦊?",), **options))
    assert json.loads(written.getvalue().decode("ascii"))["question"] == "Who saw a 🦊?"


def test_piped_questions_give_a_line_of_json_each(stdin, capsys):
    stdin(f"{QUESTION}\nWho painted the Mona Lisa?\n".encode())
    run_command("ask", [str(APOLLO), "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["answer"] for line in lines] == ["Michael Collins", ""]


def test_questions_are_asked_at_a_prompt_until_ctrl_d():
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "qa.ask", str(APOLLO)]
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, cwd=ROOT)
    os.close(follower)
    shown = b""

    def wait_for(text):
        nonlocal shown
        while text not in shown:
            shown += os.read(leader, 4096)
        shown = shown.partition(text)[2]

    wait_for(b"Ctrl-D ends")
    for typed in (f"{QUESTION}\n".encode(), b"\x1b[A\n"):  # the second is the question before
        wait_for(b"> ")
        os.write(leader, typed)
        wait_for(b"  Michael Collins (")
        wait_for(b"  or: ")
    wait_for(b"\n> ")
    os.write(leader, b"\x04")
    assert process.wait(30) == 0
    os.close(leader)


def test_smallest_length_that_fits():
    class Fixed:
        lengths = (128, 256, 384)

    assert [run_length(Fixed(), n) for n in (1, 128, 129, 384)] == [128, 128, 256, 384]
