"""Recipes: their commands parse, in an order in which each has what it needs."""

import re
import shlex
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
import tyro
from test_docs_commands import main_of

from qa.cli import options_of

ROOT = Path(__file__).parent.parent
STEP = re.compile(r"\.venv/bin/python (?:-m torch\.distributed\.run .*?)?(?:-m )?([a-z]+[./][a-z_.]+)(.*)")
GIVEN = {"TRAIN": "train.json", "DEV": "dev.json", "DEV1": "dev1.json", "MORE": "a.json b.json"}


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """(module, arguments) of all that `rows` and `forms` run where nothing is there yet."""
    folder = tmp_path_factory.mktemp("recipe")
    shutil.copy(ROOT / "recipes" / "flagship.mk", folder)
    words = ["make", "--dry-run", "-f", "flagship.mk", "rows", "forms", *(f"{name}={value}" for name, value in GIVEN.items())]
    planned = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    lines = [part for line in planned.splitlines() for part in line.split(" && ") if part.startswith((".venv", "OMP_"))]
    found = [STEP.search(line) for line in lines]
    return [(m[1].removesuffix(".py").replace("/", "."), shlex.split(m[2])) for m in found]


def test_every_step_has_all_that_its_command_needs_and_values_that_it_takes(steps, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert {"distill.finetune", "distill.run", "compress.quantize_aware", "benchmarks.compare"} <= {module for module, _ in steps}
    for module, arguments in steps:
        tyro.cli(options_of(main_of(module)), args=arguments)


def test_a_step_starts_from_what_an_earlier_one_made(steps):
    """Of the commands that read one bundle and write another; where it goes is --out, or beside the model."""
    made = set()
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
