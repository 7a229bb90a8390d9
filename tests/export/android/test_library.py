"""The core as a library: what docs/in-your-app.md shows is what is compiled and run."""

import json
import os
import re
import subprocess
import textwrap
import zipfile

import pytest
from app_process import BUILD, CLASSES, LITERT
from places import ROOT

import qa

PAGE = ROOT / "docs/in-your-app.md"
KOTLIN = ROOT / "android_demo/core/src/example/Ask.kt"
PASSAGE = "Ada Lovelace wrote the first program in 1843. Her notes were printed in London."


def test_the_page_shows_the_kotlin_file():
    assert textwrap.indent(KOTLIN.read_text(encoding="utf-8"), "    ") in PAGE.read_text(encoding="utf-8")


def test_the_page_shows_the_rules_for_r8():
    rules = (ROOT / "android_demo/app/proguard-rules.pro").read_text(encoding="utf-8").splitlines()
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in rules if "tensorflow" in line and f"    {line}" not in page] == []


def test_the_page_names_the_version_of_litert_js_and_what_to_import_instead():
    page = PAGE.read_text(encoding="utf-8")
    wanted = json.loads((ROOT / "export/web/package.json").read_text(encoding="utf-8"))["dependencies"]
    assert f"npm install @litertjs/core@{wanted['@litertjs/core']}`" in page
    module = (ROOT / "export/web/page/litert.mjs").read_text(encoding="utf-8")
    imported = re.findall(r'^import .* from "(.+)";', module, re.MULTILINE)
    assert len(imported) == 2
    assert [name for name in imported if f"instead of `{name}`" not in " ".join(page.split())] == []


def test_the_pages_python_answers(capsys, monkeypatch):
    page = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"^    from pocketqa import .*?\n(?=\n\S)", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(textwrap.dedent(code), {})
    assert capsys.readouterr().out == "Ada Lovelace\n"


def ask(file, question):
    """Run the page's class, in Java; the Kotlin has the same calls in the same order."""
    path = os.pathsep.join(map(str, CLASSES))
    command = ["java", f"-Dpocketqa.litert={LITERT}", "-cp", path, "org.pocketqa.example.PocketQa"]
    return subprocess.run(
        [*command, str(file), PASSAGE, question], capture_output=True, text=True, check=False
    )


@pytest.mark.jvm
@pytest.mark.parametrize("question", ["Who wrote the first program?", "Where were her notes printed?"])
def test_the_pages_class_answers_on_litert_as_python_does(page_model, question):
    done = ask(page_model.weights, question)
    assert done.stdout.strip() == qa.load(page_model.path).answer(question, PASSAGE).text != ""


@pytest.mark.jvm
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_the_pages_class_refuses_a_file_that_was_cut_off(page_model, tmp_path, share):
    """LiteRT itself crashes on such a file, and the process with it."""
    content = page_model.weights.read_bytes()
    file = tmp_path / "model.tflite"
    file.write_bytes(content[: int(share * len(content))])
    done = ask(file, "Who?")
    assert done.returncode == 1, done.stderr
    assert "ModelFileException" in done.stderr


@pytest.mark.jvm
def test_the_library_is_three_jars():
    names = {}
    for kind in ("", "-sources", "-javadoc"):
        (path,) = (BUILD / "jars-of-core").glob(f"core-[0-9]*.[0-9]{kind}.jar")
        with zipfile.ZipFile(path) as jar:
            names[kind] = set(jar.namelist())
    for kind, ending in (("", ".class"), ("-sources", ".java"), ("-javadoc", ".html")):
        assert f"org/pocketqa/core/QuestionAnswerer{ending}" in names[kind]
        assert not any("tools" in name for name in names[kind])
        assert {"META-INF/LICENSE", "META-INF/NOTICE"} <= names[kind]
