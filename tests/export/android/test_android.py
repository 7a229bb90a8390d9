"""The Android app's Java core, run on the JVM: it must accept, refuse, tokenize and answer exactly as Python
does."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import android_tokens
import pytest
from comparisons import copied
from package_faults import faulty_copies
from tflite_exports import LENGTHS, bare_model, sealed_again, spoiled

from export.android import check as android
from export.android.check import AndroidOptions, choose_examples
from export.android.core_process import CoreProcess, compiled_core
from export.android.package import append_package, describe, read_package
from export.options import TFLiteOptions
from export.tflite.exporter import export as export_tflite
from qa.base.errors import BundleError, OptionError, ParityError, UnsupportedExport
from qa.bundles.bundle import open_bundle
from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.runtime.runtimes import load_runtime
from qa.text.answers import decode

CASED = {"lowercase": False, "strip_accents": None}


@pytest.fixture(scope="module")
def exported(exported_tflite):
    """A tiny random int8 export with two signatures."""
    return exported_tflite("bert", "int8")[1]


@pytest.fixture(scope="module")
def cased(make_bundle, tmp_path_factory):
    """The same, cased, and with a no-answer threshold that splits its answers."""
    folder = tmp_path_factory.mktemp("android")
    source = open_bundle(make_bundle())
    settings = {"null_threshold": -7.0, "n_best": 7, "max_answer_length": 5}
    parent = copied(source, folder / "cased", normalizer=CASED, **settings)
    return export_tflite(TFLiteOptions(model=parent.path, out=folder / "cased-tflite", lengths=LENGTHS))


@pytest.fixture(scope="module")
def one_type(export_once):
    """Export of a model with one token type, to which the core gives two."""
    return export_once("tflite", "int8", (128,), encoder="bert-1-type", head="linear")[1]


@pytest.mark.jvm
@pytest.mark.parametrize("name", ["exported", "cased", "one_type"])
def test_answers_are_pythons(name, request, capsys, tmp_path):
    bundle = request.getfixturevalue(name)
    given = shutil.copy(bundle.weights, tmp_path / "mine.tflite") if name == "cased" else bundle.path
    android.check_or_push(AndroidOptions(given))
    printed = capsys.readouterr().out
    assert f"--model {given} --push" in printed
    assert "55 of 55 real questions" in printed
    assert android.file_sha256(bundle.weights) in printed
    if name == "cased":  # the threshold must have decided both ways for the test to have seen it
        assert 0 < int(printed.split(" windows, ")[1].split(" answered")[0]) < 55


@pytest.mark.jvm
@pytest.mark.parametrize("name", ["exported", "cased"])
def test_tokens_are_the_training_tokenizers(name, request, capsys):
    with pytest.raises(SystemExit) as end:
        android_tokens.main(["--model", str(request.getfixturevalue(name).path), "--generated", "3000"])
    assert end.value.code is None
    printed = capsys.readouterr().out
    assert "generated: 3,000 texts, 0 with" in printed
    assert "embedded: " in printed


@pytest.mark.jvm
@pytest.mark.parametrize("wrong", [96, 128])
def test_one_wrong_signature_is_enough_for_the_core_to_refuse(exported, tmp_path, wrong):
    bundle = sealed_again(exported, tmp_path / "wrong", spoiled(bare_model(exported), wrong))
    with (
        CoreProcess(bundle.weights) as core,
        pytest.raises(BundleError, match=r"the app refuses this model: .* computes this int8 model wrongly"),
    ):
        core.check_probe(load_runtime(bundle, 1, probe=False))


@pytest.mark.jvm
def test_answers_that_differ_are_an_error(exported, monkeypatch, capsys):
    """Python decodes with another length limit than the file says: the command must notice."""
    shorter = replace(exported.settings, max_answer_length=2)
    monkeypatch.setattr(
        "qa.evaluation.predict.decode", lambda windows, logits, _: decode(windows, logits, shorter)
    )
    with pytest.raises(ParityError, match=r"\d+ of 55 questions: the app.s core answers otherwise"):
        android.check_or_push(AndroidOptions(exported.path))
    assert "differs: " in capsys.readouterr().err


@pytest.mark.jvm
def test_what_python_refuses_the_app_refuses(exported, tmp_path):
    for path in faulty_copies(exported.weights, tmp_path):
        with pytest.raises(BundleError, match="the app refuses it: ") as refusal:
            CoreProcess(path)
        assert len(str(refusal.value).splitlines()) == 1, path.name


@pytest.mark.jvm
def test_a_path_that_the_locale_cannot_spell(exported, tmp_path):
    path = tmp_path / "modèle 東京:1"
    path.mkdir()
    shutil.copy(exported.weights, path / "m.tflite")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, pathlib; from export.android.core_process import CoreProcess as C; "
            "p = C(pathlib.Path(sys.argv[1])); print(p.encode('a')[0]); p.close()",
            str(path / "m.tflite"),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C", "TMPDIR": str(path)},
    )
    assert (done.returncode, done.stdout) == (0, "[1037]\n"), done.stderr


def test_a_bundle_of_another_format_is_refused(make_bundle):
    with pytest.raises(BundleError, match=r"\(python -m export.tflite --model \S+ makes one\)"):
        android.check_or_push(AndroidOptions(make_bundle()))


def test_without_a_jdk_one_line_says_what_to_install(exported, monkeypatch, tmp_path):
    compiled_core.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionError, match="needs a JDK"):
        CoreProcess(exported.weights)


def test_questions_must_be_a_number_above_zero():
    with pytest.raises(OptionError, match=r"^--questions must be at least 1, got 0$"):
        AndroidOptions(Path("x"), questions=0)


def test_what_the_app_would_not_read_is_not_packaged(make_bundle, exported, tmp_path):
    greedy = copied(open_bundle(make_bundle()), tmp_path / "greedy", n_best=1000)
    with pytest.raises(UnsupportedExport, match="n_best is 1000; a packaged model may have 256"):
        describe(greedy, "int8")
    package = read_package(exported.weights)
    bare = tmp_path / "bare.tflite"
    content = exported.weights.read_bytes()[: package.info["model"]["bytes"]]
    bare.write_bytes(content)
    with pytest.raises(
        UnsupportedExport, match=r"probe.json takes 500001 bytes; a packaged model may have 500000"
    ):
        append_package(bare, package.info, package.vocabulary, " " * 500_001)
    assert bare.read_bytes() == content


def test_chosen_questions_are_real_and_some_are_long():
    examples = read_squad(resolve("embedded", "dev"))
    chosen = choose_examples(examples, 50)
    assert len(chosen) == 55
    assert set(chosen[:50]) <= set(examples)
    assert all(len(e.context) > 1500 for e in chosen[50:])
