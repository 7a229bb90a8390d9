"""The house: imports run one way, and nothing loads weights in a way that could run code."""

import ast
import graphlib
import json
import os
import re
import shutil
import subprocess
import tomllib

import pytest
from places import ROOT, sources

# From the ground up. A module may import from its own floor and from those before it; the longest name that
# fits counts.
FLOORS = [
    "qa.base",
    "qa.formats",
    "qa.data",
    "qa.text",
    "qa.models",
    "qa.bundles",
    "qa.runtime",
    "qa.evaluation",
    "qa",
    "pocketqa",
    "distill.training",
    "distill.prune_plan",
    "distill",
    "compress",
    "export.android",
    "export",
    "benchmarks",
]


def floor(module):
    fits = [name for name in FLOORS if module == name or module.startswith(name + ".")]
    return FLOORS.index(max(fits, key=len)) if fits else -1


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_imports_run_one_way():
    wrong = []
    for path in sources():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        wrong += [
            f"{module} imports {name}" for name in imported_modules(path) if floor(name) > floor(module)
        ]
    assert wrong == []


def test_a_wheel_has_every_package():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"][
        "packages"
    ]
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in sources()}
    assert sorted({*listed} - {"pocketqa.models"}) == sorted(folders)


def tree_of_imports():
    """{module: modules of the project that it imports anywhere, itself left out}"""
    modules = {
        ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in sources()
    }
    tree = {}
    for module, path in modules.items():
        names = set(imported_modules(path))
        names |= {name.rpartition(".")[0] for name in names}
        tree[module] = (names & modules.keys()) - {module}
    return tree


def test_a_file_is_named_by_what_it_does_and_options_are_called_so():
    assert [path for path in sources() if path.stem in ("stage", "steps", "utils", "helpers", "common")] == []
    misnamed = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        for name in re.findall(
            r"^class (\w+(?:Flags|Config))\b", path.read_text(encoding="utf-8"), re.MULTILINE
        )
        if not name.startswith(("BiDAF", "QANet"))  # configs as transformers has them
    ]
    assert misnamed == []


def test_no_imports_form_a_circle():
    graphlib.TopologicalSorter(tree_of_imports()).prepare()  # CycleError names one


UNSAFE = re.compile(
    r"torch\.load\(|import c?[Pp]ickle|pickle\.load|allow_pickle=True|joblib|trust_remote_code=True|[^.]\beval\(|\bexec\("
)


def test_make_goes_by_what_is_finished_not_by_its_time(tmp_path):
    """On a machine whose clock was set back a student may be younger than what was made of it."""
    for age, name in enumerate(
        ["student-pruned-onnx-int8", "student-pruned-tflite-int8", "student-pruned", "student"]
    ):
        bundle = tmp_path / "runs" / "demo" / name
        bundle.mkdir(parents=True)
        os.utime(bundle, (age, age))
    words = [
        "make",
        "--dry-run",
        "-C",
        str(tmp_path),
        "-f",
        str(ROOT / "Makefile"),
        "--old-file",
        "install",
        "demo",
    ]
    planned = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "benchmarks/compare.py --quick" in planned
    stages = "distill.run|compress.prune|export.onnx|export.tflite"
    assert re.findall(stages, planned) == ["distill.run"], "with --resume, which takes a finished student"
    shutil.rmtree(tmp_path / "runs" / "demo" / "student-pruned")
    planned = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert re.findall(stages, planned) == ["distill.run", "compress.prune"]


def test_a_release_has_one_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for name in ("app", "core"):
        script = (ROOT / f"android_demo/{name}/build.gradle").read_text(encoding="utf-8")
        assert re.search(r"^\s*version(?:Name)? = '(.+)'$", script, re.MULTILINE)[1] == version
    for name in ("package.json", "package-lock.json"):
        assert json.loads((ROOT / f"export/web/{name}").read_text(encoding="utf-8"))["version"] == version
    page = (ROOT / "docs/in-your-app.md").read_text(encoding="utf-8")
    assert set(re.findall(r"core[:-](\d[\d.]*\d)", page)) == {version}


def test_nothing_is_unpickled_and_no_remote_code_runs():
    assert [str(p.relative_to(ROOT)) for p in sources() if UNSAFE.search(p.read_text(encoding="utf-8"))] == []


# Systems of the literature: imported by registry only, so that the way from teacher to phone loads none.
WINGS = [
    "qa.models.heads.pointer",
    "qa.models.heads.qermit",
    "qa.models.standalone.bidaf",
    "qa.models.standalone.parts",
    "qa.models.standalone.qanet",
    "compress.prune.magnitude",
    "qa.data.augment",
    "qa.data.convert.triviaqa",
]


def in_a_wing(module):
    return any(module == wing or module.startswith(wing + ".") for wing in WINGS)


@pytest.mark.parametrize("wing", WINGS)
def test_only_wings_import_a_wing(wing):
    importers = []
    for path in sources():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if not in_a_wing(module):
            names = [name for name in imported_modules(path) if name == wing or name.startswith(wing + ".")]
            importers += [f"{module} imports {name}" for name in names]
    assert importers == []
