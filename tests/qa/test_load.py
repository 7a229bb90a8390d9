"""`qa.load`: the answers of evaluation, one by one or many at once, from every runtime; cheap to import;
clear about misuse."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import get_args

import pytest
from places import ROOT

from qa import load
from qa.base.errors import BundleError, OptionError, PocketQAError
from qa.bundles.bundle import open_bundle
from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.evaluation.predict import answer_text, predict
from qa.reader import Answer, Reader
from qa.runtime.engines import _stderr_to_null
from qa.runtime.runtimes import load_runtime, run_windows
from qa.text import features
from qa.text.features import make_windows
from qa.text.settings import Calibration, Mode


@pytest.fixture(scope="module")
def examples():
    """Real questions of several passages."""
    return read_squad(resolve("embedded", "dev"))[::20][:24]


@pytest.fixture(params=["pytorch", "onnx", "tflite", "any-length"])
def bundle(request, make_bundle, tiny_export):
    return open_bundle(make_bundle()) if request.param == "pytorch" else tiny_export(request.param)


def test_answers_are_those_of_evaluation(bundle, examples):
    answers = load(bundle.path, threads=1).answer_all([(e.question, e.context) for e in examples])
    windows = make_windows(examples, bundle.tokenizer, bundle.settings)
    predictions = predict(examples, windows, run_windows(load_runtime(bundle, 1), windows), bundle.settings)
    for example, answer, prediction in zip(examples, answers, predictions, strict=True):
        assert answer.text == answer_text(example, prediction, bundle.settings.null_threshold) != ""
        spans = [(a.score, a.start, a.end) for a in (answer, *answer.alternatives)]
        assert spans == [(c.score, c.start, c.end) for c in prediction.candidates]
        assert all(example.context[a.start : a.end] == a.text for a in (answer, *answer.alternatives))
        shares = [c.share for c in prediction.candidates]
        assert [a.probability for a in (answer, *answer.alternatives)] == shares


def test_one_by_one_equals_many(bundle, examples):
    model = load(str(bundle.path), threads=1)
    long = examples[0].context + " " + examples[-1].context
    pairs = [(e.question, e.context) for e in examples[:6]]
    pairs += [(examples[0].question, long), (examples[1].question, "")]
    assert [model.read([pair]).n_windows[0] for pair in pairs] == model.read(pairs).n_windows
    for pair, answer in zip(pairs, model.answer_all(pair for pair in pairs), strict=True):
        alone = model.answer(*pair)
        assert (alone.text, alone.start, alone.end) == (answer.text, answer.start, answer.end)
        assert (alone.score, alone.probability) == pytest.approx((answer.score, answer.probability), abs=1e-4)


def test_texts_are_tokenized_once_for_questions_that_follow(make_bundle, monkeypatch):
    tokenized = []
    tokenize = features.tokenize_passages
    monkeypatch.setattr(features, "tokenize_passages", lambda t, *o: tokenized.extend(t) or tokenize(t, *o))
    model = load(make_bundle(), threads=1)
    first = model.answer("Where?", ["In Kiel.", "Not there."])
    model.answer("Who?", ["In Kiel.", "Ada."])
    assert tokenized == ["In Kiel.", "Not there.", "Ada."]
    assert model.answer("Where?", ["In Kiel.", "Not there."]) == first
    assert tokenized[3:] == ["Not there."]


def test_threads_share_a_model(bundle, examples):
    model = load(bundle.path, threads=1)
    pairs = [(e.question, e.context) for e in examples] * 4
    alone = [model.answer(*pair) for pair in pairs[: len(examples)]] * 4
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda pair: model.answer(*pair), pairs))
    assert [(a.text, a.start, a.score) for a in together] == [(a.text, a.start, a.score) for a in alone]


def test_two_threads_that_load_at_once_leave_stderr_as_it_was():
    before = os.fstat(2)
    first_is_inside, second_is_inside = threading.Event(), threading.Event()

    def second():
        with _stderr_to_null():
            second_is_inside.set()
            first.join()

    def hide():
        with _stderr_to_null():
            first_is_inside.set()
            second_is_inside.wait(0.2)

    first, later = threading.Thread(target=hide), threading.Thread(target=second)
    first.start()
    first_is_inside.wait()
    later.start()
    later.join()
    assert os.path.samestat(os.fstat(2), before)


def differences_of(reading):
    return [null - answer.score for null, answer in zip(reading.null_scores, reading.answers, strict=True)]


def test_a_threshold_of_ones_own_stands_for_the_models(bundle, examples):
    pairs = [(e.question, e.context) for e in examples]
    differences = sorted(differences_of(load(bundle.path, threads=1).read(pairs)))
    model = load(bundle.path, threads=1, null_threshold=differences[9])
    assert sum(answer.start is not None for answer in model.answer_all(pairs)) == pytest.approx(10, abs=1)
    with pytest.raises(OptionError, match="null_threshold must be a finite number or None, got nan"):
        load(bundle.path, null_threshold=float("nan"))


def test_a_threshold_leaves_questions_unanswered(make_bundle, examples):
    bundle = open_bundle(make_bundle())
    pairs = [(e.question, e.context) for e in examples]
    always = Reader(bundle, 1).read(pairs)
    differences = differences_of(always)
    threshold = sorted(differences)[len(differences) // 2]
    model = Reader(replace(bundle, settings=replace(bundle.settings, null_threshold=threshold)), 1)
    for answer, before, difference, null in zip(
        model.answer_all(pairs), always.answers, differences, always.null_scores, strict=True
    ):
        options = (answer, *answer.alternatives)
        assert (answer.start is None) == (difference > threshold)
        assert [o.start for o in options].count(None) == 1
        given = {o.text for o in options if o.start is not None}
        assert given == {before.text, *[a.text for a in before.alternatives]}
        others = [o.probability for o in answer.alternatives]
        assert others == sorted(others, reverse=True)
        left = 1 - next(o.probability for o in options if o.start is None)
        share = sum(o.probability for o in (before, *before.alternatives))
        assert sum(o.probability for o in options if o.start is not None) == pytest.approx(left * share)
        if answer.start is None:
            assert (answer.text, answer.end, answer.score) == ("", None, null)


@pytest.mark.parametrize("context", ["", " \n\t", "\u200b"])
def test_a_passage_without_words_has_no_answer(make_bundle, context):
    answer = load(make_bundle(), threads=1).answer("Who?", context)
    assert answer == Answer("", None, None, answer.score, 1.0)


def test_no_questions_have_no_answers(make_bundle):
    assert load(make_bundle(), threads=1).answer_all([]) == []


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (("Who?", "Ada."), "pair 0 must be (question, context), got 'Who?'"),
        ([("Who?", "Ada."), ("Who?",)], "pair 1 must be (question, context), got ('Who?',)"),
        ([("Who?", None)], "the context of pair 0 must be text (str), got NoneType"),
        ([(b"Who?", "Ada.")], "the question of pair 0 must be text (str), got bytes"),
        (
            [("Who?", "Ada\ud83d")],
            "the context of pair 0 must be text, got half of a surrogate pair at character 3",
        ),
        (7, "the questions must be (question, context) pairs, got int"),
    ],
)
def test_what_is_no_pair_of_texts_is_refused_in_one_line(make_bundle, pairs, says):
    with pytest.raises(OptionError) as caught:
        load(make_bundle(), threads=1).answer_all(pairs)
    assert str(caught.value) == says


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True, 2**40])
def test_threads_are_a_whole_number(make_bundle, threads):
    with pytest.raises(OptionError, match="threads must be a whole number from 1 to 1024, got"):
        load(make_bundle(), threads=threads)


def test_windows_longer_than_the_models_positions_are_refused(make_bundle):
    bundle = open_bundle(make_bundle())
    with pytest.raises(BundleError, match="windows of 513 tokens, but positions for 512"):
        Reader(replace(bundle, settings=replace(bundle.settings, max_length=513)))


def test_what_is_no_bundle_is_refused(tmp_path):
    with pytest.raises(BundleError, match="no such bundle folder"):
        load(tmp_path / "absent")
    with pytest.raises(OptionError, match="name_or_path must be a path or a hub name, got 3"):
        load(3)


WITHOUT_TORCH = """
import sys
for package in ("torch", "safetensors", "onnx", "onnxruntime", "accelerate", "litert_torch"):
    sys.modules[package] = None
import importlib, pkgutil
import qa
from qa.base.errors import PocketQAError
for folder in ("data", "text", "bundles", "runtime", "evaluation"):
    package = importlib.import_module(f"qa.{folder}")
    for module in pkgutil.walk_packages(package.__path__, f"qa.{folder}."):
        importlib.import_module(module.name) if not module.name.endswith("__main__") else None
for name in ("reader", "ask", "answer_formats", "documents", "evaluate"):
    importlib.import_module(f"qa.{name}")
print(qa.load().answer("Who stayed in orbit?", "Michael Collins stayed in orbit around it.").text)
for name in sys.argv[1:]:
    try:
        qa.load(name)
    except PocketQAError as error:
        print(type(error).__name__, error)
"""


def test_the_shipped_file_answers_without_pytorch_and_what_needs_it_says_so():
    names = ["typo.tflite", "my-model", str(ROOT / "models" / "student")]
    program = [sys.executable, "-c", WITHOUT_TORCH, *names]
    answer, typo, unknown, bundle = subprocess.check_output(program, text=True, cwd=ROOT).splitlines()
    assert answer == "Michael Collins"
    assert typo.startswith("BundleError typo.tflite: ")
    assert unknown.startswith("OptionError my-model: no such file or folder here")
    assert "pip install 'pocketqa[train]'" in unknown
    assert bundle.startswith("OptionError a PyTorch bundle needs torch")


IN_A_SERVICE = """
import multiprocessing, sys, threading
sys.modules["fcntl"] = None  # as on Windows
import qa

class Logger:
    def write(self, text): pass
    def flush(self): pass

model = qa.load()
for stderr in (Logger(), None):
    sys.stderr = stderr
    print(model.answer("Who wrote it?", "Ada wrote it.").text)
multiprocessing.set_start_method("spawn")
print(threading.active_count())
"""


def test_in_a_service_it_needs_no_stderr_and_settles_nothing_for_other_processes():
    program = [sys.executable, "-c", IN_A_SERVICE]
    assert subprocess.check_output(program, text=True, cwd=ROOT).splitlines() == ["Ada", "Ada", "1"]


@pytest.mark.parametrize("statement", ["from qa import load", "import pocketqa"])
def test_importing_load_imports_no_library(statement):
    heavy = {"torch", "transformers", "onnxruntime", "ai_edge_litert", "numpy", "tokenizers", "tyro", "tqdm"}
    program = f"import sys; {statement}; print(sorted({heavy} & sys.modules.keys()))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_a_mode_says_when_to_decline(make_bundle, examples):
    bundle = open_bundle(make_bundle())
    pairs = [(e.question, e.context) for e in examples]
    differences = sorted(differences_of(Reader(bundle, 1).read(pairs)))
    thresholds = {"null_threshold": differences[11], "strict_threshold": differences[2]}
    settings = replace(bundle.settings, **thresholds, calibration=Calibration(4.0, 1.0))
    bundle = replace(bundle, settings=settings)
    read = {mode: Reader(bundle, 1, mode=mode).answer_all(pairs) for mode in get_args(Mode)}
    answered = {mode: sum(a.start is not None for a in answers) for mode, answers in read.items()}
    assert answered == {"answering": 24, "balanced": 12, "strict": 3}
    for given, declined in zip(read["answering"], read["strict"], strict=True):
        same = declined if declined.start is not None else declined.not_sure
        assert (same.text, same.probability) == (given.text, given.probability)
    with pytest.raises(OptionError, match="--mode strict cannot be combined with --null-threshold"):
        Reader(bundle, 1, mode="strict", null_threshold=1.0)
    with pytest.raises(OptionError, match="mode must be one of"):
        Reader(bundle, 1, mode="")


def test_a_name_too_long_for_a_file_is_said():
    with pytest.raises(PocketQAError, match="too long"):
        load("x" * 300)
