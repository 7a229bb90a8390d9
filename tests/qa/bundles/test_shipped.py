"""The models that come with the project: whole, made of each other, and what commands take where none is
named."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from benchmarks.options import CompareOptions
from benchmarks.resolve import run_here
from distill.adapter import AdapterOptions
from distill.adapter import apply_adapter as add_adapter
from distill.options import DistillOptions
from distill.train_on_teacher import distil
from export.exporter import newest_student
from export.onnx.exporter import export as export_onnx
from export.options import OnnxOptions
from qa import load
from qa.ask import AskOptions, ask
from qa.base import shipped
from qa.base.errors import BundleError, OptionError
from qa.bundles.bundle import CARD, copy_bundle, open_adapter, open_bundle
from qa.bundles.hf_import import output_beside
from qa.data.datasets import resolve
from qa.data.metrics import evaluate_predictions
from qa.data.squad import read_squad
from qa.reader import Reader

pytestmark = pytest.mark.usefixtures("fresh_accelerate")
LIMIT_MB = 60
PASSAGE = (
    "Apollo 11 was launched on July 16, 1969, and landed on the Moon four days later. Neil Armstrong and "
    "Buzz Aldrin walked on "
    "its surface while Michael Collins stayed in orbit around it. They returned to Earth on July 24."
)
FOLDERS = sorted(path.parent for path in shipped.FOLDER.glob("*/manifest.json"))
LARGE = shipped.FOLDER / "teacher-everyday-adapter"
BUNDLES = [path for path in FOLDERS if path != LARGE]


def test_every_file_is_the_one_that_was_released():
    assert {path.name for path in BUNDLES} == {"teacher", "student", "student-tflite-int8"}
    assert LARGE in FOLDERS
    files = {str(path.relative_to(shipped.FOLDER)): path.read_bytes() for path in shipped.FOLDER.glob("*/*")}
    listed = dict(
        reversed(line.split("  ")) for line in (shipped.FOLDER / "SHA256SUMS").read_text().splitlines()
    )
    assert listed == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    assert sum(map(len, files.values())) < LIMIT_MB * 1e6


def test_the_large_teacher_taught_the_student_and_the_file_was_made_of_the_student():
    """The small teacher learnt from what the large one was before everyday text."""
    made = {path.name: open_bundle(path) for path in BUNDLES}
    large = open_adapter(LARGE)
    assert large.sha256 in made["student"].manifest.taught_by
    assert {before.sha256 for before in large.manifest.ancestors} & set(made["teacher"].manifest.taught_by)
    assert made["student-tflite-int8"].manifest.ancestors[0].sha256 == made["student"].sha256
    for bundle in made.values():
        assert bundle.settings.null_threshold is not None
        assert 'license: "cc-by-sa-4.0"' in (bundle.path / CARD).read_text()
    assert "Licence: CC BY-SA 4.0." in (shipped.FOLDER / CARD).read_text()


@pytest.mark.system
def test_the_adapter_makes_the_large_teacher_of_what_is_downloaded(tmp_path):
    script = ROOT / "recipes" / "fetch_mpnet.py"
    subprocess.run([sys.executable, str(script), str(tmp_path / "mpnet")], check=True, cwd=tmp_path)
    options = AdapterOptions(adapter=LARGE, encoder=str(tmp_path / "mpnet"), out=tmp_path / "large")
    teacher = add_adapter(options)
    assert teacher.manifest.parameters.total > 100e6
    assert "Collins" in load(teacher.path).answer("Who stayed in orbit around the Moon?", PASSAGE).text


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name)
def test_each_answers_and_says_when_there_is_no_answer(path):
    model = load(path, threads=1)
    assert "Collins" in model.answer("Who stayed in orbit around the Moon?", PASSAGE).text
    assert "July 16, 1969" in model.answer("When was Apollo 11 launched?", PASSAGE).text
    assert model.answer("Who painted the Mona Lisa?", PASSAGE).start is None


@pytest.mark.system
def test_the_files_answer_as_the_student_and_all_answer_most_questions(tmp_path):
    """On every 20th question of the excerpt; all have an answer; each model declines where its own threshold
    says so."""
    questions = read_squad(resolve("embedded", "dev"))[::20]
    answers = {}
    f1 = {}
    out = tmp_path / "student-onnx-int8"
    export_onnx(OnnxOptions(model=shipped.FOLDER / "student", quantize="int8", out=out))
    for path in (*BUNDLES, out):
        found = Reader(open_bundle(path), 1).answer_all([(e.question, e.context) for e in questions])
        answers[path.name] = [answer.text for answer in found]
        by_id = {e.id: a.text for e, a in zip(questions, found, strict=True)}
        f1[path.name] = evaluate_predictions(questions, by_id)["f1"]
    assert min(f1.values()) > 60
    for name in ("student-tflite-int8", "student-onnx-int8"):
        same = sum(a == b for a, b in zip(answers[name], answers["student"], strict=True))
        assert same > 0.85 * len(questions)


def test_it_is_what_is_asked_where_no_model_is_named(tmp_path, capsys):
    (tmp_path / "passage.txt").write_text(PASSAGE)
    config = AskOptions(
        question=("Who stayed in orbit?",), context=(str(tmp_path / "passage.txt"),), threads=1
    )
    (answer,) = ask(config)
    assert "Michael Collins" in capsys.readouterr().out
    model = load(threads=1)
    assert model.bundle.path == shipped.FOLDER / "student-tflite-int8"
    assert model.answer("Who stayed in orbit?", PASSAGE) == answer


def test_make_ask_takes_a_question_and_a_path_as_they_stand(tmp_path):
    """By the real Makefile, with a Python that prints what it was given."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    question = """How much is "$5" of Anna's `$HOME` in $(pwd)?"""
    text = "a b.txt"
    make = ["make", "-s", "-C", str(tmp_path), "-f", str(ROOT / "Makefile"), "--old-file", "install"]
    words = [*make, "ask", f"Q={question}"]
    environment = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}
    for given, context in (([f"TEXT={text}"], text), ([], "-")):
        printed = subprocess.check_output([*words, *given], text=True, env=environment)
        assert printed.splitlines() == ["-m", "qa.ask", "--question", question, "--context", context]
    asked_nothing = subprocess.run(words[:-1], capture_output=True, text=True, check=False, env=environment)
    assert (asked_nothing.returncode, asked_nothing.stdout) == (2, "")
    assert asked_nothing.stderr.startswith("error: no question; make ask Q=")


@pytest.mark.system
def test_an_export_without_a_demo_takes_the_student_and_leaves_models_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(shipped.FOLDER.rglob("*"))
    made = export_onnx(OnnxOptions())
    assert made.path == Path("runs/student-onnx-fp32")
    assert made.manifest.parent.sha256 == open_bundle(shipped.FOLDER / "student").sha256
    assert sorted(shipped.FOLDER.rglob("*")) == before
    assert output_beside(shipped.FOLDER / "teacher", "pruned") == Path("runs/teacher-pruned")


def test_a_threshold_that_is_no_number_is_refused():
    with pytest.raises(OptionError, match="--null-threshold must be a finite number, got inf"):
        OnnxOptions(null_threshold=float("inf"))


@pytest.mark.system
def test_a_student_without_a_teacher_of_its_own_learns_from_the_shipped_one(few, tmp_path):
    student = distil(DistillOptions(out=tmp_path / "r", importance_windows=4, **few))
    teacher = open_bundle(shipped.FOLDER / "teacher")
    assert student.manifest.parent == teacher.reference()
    copied = tmp_path / "r" / "teacher"
    assert open_bundle(copied).sha256 == teacher.sha256
    # The shipped teacher was distilled itself, but in this run it is the teacher.
    run = run_here(CompareOptions((student.path, copied)))
    assert run.baseline.bundle.path == copied
    assert newest_student(tmp_path / "r") == student.path
    shutil.rmtree(student.path)
    assert newest_student(tmp_path / "r") == shipped.FOLDER / "student"


def test_a_copy_is_whole_and_never_takes_another_models_place(make_bundle, tmp_path):
    copy = copy_bundle(make_bundle(), tmp_path / "copy")
    assert copy.sha256 == open_bundle(make_bundle()).sha256
    assert copy_bundle(make_bundle(), tmp_path / "copy") == copy
    with pytest.raises(BundleError, match=r"copy: is another model than .*; choose another --out"):
        copy_bundle(make_bundle(seed=1), tmp_path / "copy")
    damaged = shutil.copytree(make_bundle(), tmp_path / "damaged")
    (damaged / "qa.json").write_text("{}")
    with pytest.raises(BundleError, match="changed since it was made"):
        copy_bundle(damaged, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_without_the_checkout_a_model_must_be_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "models")
    told = r"--teacher must be given: .*a checkout all models"
    with pytest.raises(OptionError, match=told):
        shipped.shipped("teacher", "--teacher")
    (tmp_path / "passage.txt").write_text("Michael Collins stayed in orbit.")
    with pytest.raises(OptionError, match="--model must be given: "):
        ask(AskOptions(question=("Who stayed?",), context=(str(tmp_path / "passage.txt"),)))
    with pytest.raises(OptionError, match="name_or_path must be given: "):
        load()
