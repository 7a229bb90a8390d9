"""The files that the Android core's tests repeat still say what Python does: tokens, Unicode tables, windows,
answers."""

import gzip
import json

import numpy as np
import pytest
import tokenizers
from places import GOLDEN
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from export.android.characters import character_tables
from qa.data.squad import Example
from qa.models.pretrained import embedded_folder
from qa.runtime.probe import read_probe
from qa.text.answers import decode
from qa.text.features import make_windows, tokenize_passages
from qa.text.marks import ends_with_marks
from qa.text.preselection import preselect
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer, normalizer_settings, vocabulary

FOLDER = GOLDEN / "android"
AGAIN = "; if that is meant, run tests/golden/record_android.py again"


def packaged(name):
    return (FOLDER / "package" / name).read_text(encoding="utf-8")


def recorded(name):
    return json.loads(gzip.decompress((FOLDER / name).read_bytes()))


@pytest.fixture(scope="module")
def info():
    return json.loads(packaged("qa.json"))


@pytest.fixture(scope="module")
def tokenizer(info):
    """A tokenizer made of nothing but what the package says."""
    tokens = packaged("vocab.txt").removesuffix("\n").split("\n")
    wordpiece = models.WordPiece(
        {token: index for index, token in enumerate(tokens)}, unk_token="[UNK]", **info["wordpiece"]
    )
    tokenizer = Tokenizer(wordpiece)
    tokenizer.normalizer = normalizers.BertNormalizer(**info["normalizer"])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def test_the_tables_are_the_installed_librarys():
    tables = json.loads(packaged("characters.json"))
    # may differ, tables not
    versions = f"tokenizers {tables.pop('tokenizers')} recorded, {tokenizers.__version__} installed"
    installed = {name: entries for name, entries in character_tables().items() if name != "tokenizers"}
    assert tables.keys() == installed.keys()
    changed = [name for name in tables if tables[name] != installed[name]]
    assert changed == [], f"{versions}: other {', '.join(changed)}{AGAIN}"


def test_the_package_describes_the_shipped_tokenizer(info):
    shipped = load_tokenizer(embedded_folder())
    assert packaged("vocab.txt") == "".join(f"{token}\n" for token in vocabulary(shipped))
    assert info["normalizer"] == normalizer_settings(shipped)
    assert {token: shipped.token_to_id(token) for token in info["special_tokens"]} == info["special_tokens"]
    assert read_probe(packaged("probe.json"), "probe.json").windows


@pytest.mark.parametrize("source", ["package", "shipped"])
def test_every_text_has_the_recorded_tokens(tokenizer, source):
    asked = tokenizer if source == "package" else load_tokenizer(embedded_folder())
    rows = recorded("tokens.json.gz")
    assert len(rows) > 1700
    encodings = asked.encode_batch([row["text"] for row in rows], add_special_tokens=False)
    wrong = [
        ascii(row["text"])
        for row, encoding in zip(rows, encodings, strict=True)
        if (encoding.ids, encoding.offsets)
        != (row["ids"], list(zip(row["starts"], row["ends"], strict=True)))
    ]
    assert wrong == [], AGAIN


def test_an_answer_keeps_the_accent_behind_its_last_letter(tokenizer):
    rows = json.loads((FOLDER / "accents.json").read_text(encoding="ascii"))
    passages = list(tokenize_passages([row["text"] for row in rows], tokenizer))
    for row, passage in zip(rows, passages, strict=True):
        ends = (passage.ends.tolist(), passage.answer_ends.tolist())
        assert ends == (row["ends"], row["answer_ends"]), ascii(row["text"])
    example = Example("", "", "The singer Beyonce\u0301.", "Who?", (), False)
    (window,) = make_windows([example], tokenizer, QASettings())
    logits = np.zeros(len(window.input_ids), np.float32)
    logits[window.context_begin + 2] = 5
    best = decode([window], [(logits, logits)], QASettings()).candidates[0]
    assert (example.context[best.start : best.end], best.score) == ("Beyonce\u0301", 10)


def test_marks_are_those_of_the_tables():
    """The tables travel with a model; the library is asked again for each character."""
    marks = {c for first, last in character_tables()["marks"] for c in range(first, last + 1)}
    every = [c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]
    found = {c for c in every[:70_000] if ends_with_marks("a" + chr(c), [1]) == [2]}
    assert found == {c for c in marks | {0x200D, 0xFE0F} if c <= every[69_999]}


@pytest.fixture(scope="module")
def answers():
    return recorded("answers.json.gz")


@pytest.fixture(scope="module")
def questions(answers, info, tokenizer):
    """(recorded question, its windows now)."""
    contexts = answers["contexts"]
    examples = [
        Example(q["id"], "", contexts[q["context"]], q["question"], (), False) for q in answers["questions"]
    ]
    windows = [[] for _ in examples]
    for window in make_windows(examples, tokenizer, QASettings(**info["settings"])):
        windows[window.example].append(window)
    return list(zip(answers["questions"], windows, strict=True))


def test_every_question_has_the_recorded_windows(questions):
    for question, windows in questions:
        seen = [window.input_ids.tolist() for window in windows]
        assert seen == [window["input_ids"] for window in question["windows"]], question["id"] + AGAIN


def test_the_recorded_logits_give_the_recorded_answers(questions, answers, info):
    settings = QASettings(**info["settings"])
    for question, windows in questions:
        logits = [
            (np.array(window["start_logits"], np.float32), np.array(window["end_logits"], np.float32))
            for window in question["windows"]
        ]
        prediction = decode(windows, logits, settings)
        where = question["id"] + AGAIN
        candidates = [[c.score, c.start, c.end, c.share] for c in prediction.candidates]
        assert [c[:3] for c in candidates] == [c[:3] for c in question["candidates"]], where
        shares = [c[3] for c in question["candidates"]]
        assert [c[3] for c in candidates] == pytest.approx(shares, abs=1e-12), where
        assert prediction.null_score == question["null_score"], where
        assert [prediction.best(t) is not None for t in answers["thresholds"]] == question["answered"], where


def test_of_long_passages_the_recorded_windows_are_read(answers, info, tokenizer):
    settings = QASettings(**info["settings"])
    rows = json.loads((FOLDER / "preselection.json").read_bytes())
    texts = ["\n".join(answers["contexts"][k] for k in row["contexts"]) for row in rows]
    assert all(len(text) > 20_000 for text in texts)
    assert sum(not text.isascii() for text in texts) >= 10
    asked = [row["question"] for row in rows]
    examples = [
        Example("", "", text, question, (), False) for text, question in zip(texts, asked, strict=True)
    ]
    windows = make_windows(examples, tokenizer, settings)
    for number, row in enumerate(rows):
        own = [window for window in windows if window.example == number]
        read = [window.input_ids.tobytes() for window in preselect(own, settings)]
        step = min(len(own[0].char_starts), settings.doc_stride)
        firsts = [place * step for place, window in enumerate(own) if window.input_ids.tobytes() in read]
        assert (len(own), firsts) == (row["windows"], row["first_tokens"]), row["question"] + AGAIN


def test_the_recorded_questions_are_hard_enough(answers):
    """Several windows, equal scores, questions without candidates, thresholds that part them, one met
    exactly."""
    questions = answers["questions"]
    assert len(questions) >= 525
    assert sum(len(q["windows"]) > 1 for q in questions) >= 5
    assert any(q["candidates"] == [] for q in questions)
    scores = [[c[0] for c in q["candidates"]] for q in questions]
    assert sum(len(set(own)) < len(own) for own in scores) >= 20
    assert sum(own != sorted(own, reverse=True) for own in scores) >= 300  # in the order of their shares
    n_answered = [sum(q["answered"][i] for q in questions) for i in range(len(answers["thresholds"]))]
    assert len(set(n_answered)) >= 5
    differences = {q["null_score"] - q["candidates"][0][0] for q in questions if q["candidates"]}
    assert differences & {t for t in answers["thresholds"] if t is not None}
