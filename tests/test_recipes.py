"""Recipes: their commands parse, in an order in which each has what it needs."""

import re
import shlex
import shutil
import subprocess
from itertools import pairwise

import pytest
import tyro
from documented import main_of
from places import ROOT

from qa.base.cli import options_of

STEP = re.compile(r"\.venv/bin/python (?:-m torch\.distributed\.run .*?)?(?:-m )?([a-z]+[./][a-z_.]+)(.*)")
GIVEN = {"TRAIN": "train.json", "DEV": "dev.json", "DEV1": "dev1.json", "MORE": "a.json b.json"}
RECIPES = {
    "flagship": (
        ("rows", "forms"),
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
        tyro.cli(options_of(main_of(module)), args=arguments)


def test_a_step_starts_from_what_an_earlier_one_made(steps):
    """Of the commands that read one bundle and write another; where it goes is --out, or beside the model."""
    made = {"models/teacher"}  # which comes with the project
    for module, arguments in steps:
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
