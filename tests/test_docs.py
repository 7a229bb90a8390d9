"""The documents say what is so: their code runs, and the files they name are there."""

import re
import sys
from unittest.mock import patch

import pytest
from places import ROOT

from benchmarks.toolchains.registry import TOOLCHAINS
from compress.options import METHODS, PruneOptions
from compress.prune.prune import prune
from qa.formats.precision import PRECISIONS
from qa.formats.registry import FORMATS
from qa.models.architectures import ENCODERS
from qa.models.heads import HEADS

DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))


@pytest.fixture
def registries():
    """As they are; what is added to them is forgotten afterwards."""
    found = [HEADS, ENCODERS, FORMATS, PRECISIONS, METHODS, TOOLCHAINS, sys.modules]
    patches = [patch.dict(registry) for registry in found]
    for one in patches:
        one.start()
    yield found[:-1]
    for one in patches:
        one.stop()


@pytest.mark.usefixtures("fresh_accelerate")
def test_the_examples_of_extending_run_and_extend_every_registry(
    registries, make_bundle, small_squad, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    sizes = [len(registry) for registry in registries]
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    space = {"__name__": "example"}
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, block.start()) + 1
        exec(compile("\n" * line + block[1], "docs/extending.md", "exec"), space)
    assert [len(registry) for registry in registries] == [size + 1 for size in sizes]
    assert (tmp_path / "table" / "README.md").read_text().count("Token table") == 1
    options = {"model": make_bundle(), "out": tmp_path / "pruned", "data": str(small_squad)}
    prune(PruneOptions(method="without-biases", **options))
    assert "biases of Linears are zero" in capsys.readouterr().out


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_what_there_is(document):
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*/(?:[a-z_]+\.py)?)`", document.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_pictures_promise_nothing_that_was_not_measured():
    pipeline = (ROOT / "docs" / "pipeline.svg").read_text(encoding="utf-8")
    assert "GPU" not in pipeline
    assert set(re.findall(r"[^<>]*phone[^<>]*", pipeline)) == {"not yet run on a phone"}
    pages = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/web.md"))
    captions = re.findall(r"!\[(.*)\]\((?:docs/)?web\.png\)", pages)
    assert ["in Chromium at phone size" in caption for caption in captions] == [True, True]
