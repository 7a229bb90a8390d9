"""What README and docs say can be typed: every command exists, with its options, every example of one parses,
cheap ones run as they stand, and every link leads somewhere."""

import contextlib
import io
import re
import shlex
import shutil
from functools import cache

import pytest
import tyro
from documented import command_of, options_of
from places import ROOT

from qa.base.commands import run_command

PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "benchmarks/results/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
COMMAND = re.compile(r"python (-m [a-z_.]+|benchmarks/compare\.py)((?: (?!&&|->)[^\s`#]+)*)")
EXAMPLE = re.compile(
    r"^    (?:\.venv/bin/)?python (-m [a-z_.]+|benchmarks/compare\.py)([^#\n]*)", re.MULTILINE
)
# Examples of these take seconds on a tiny model. Those that train are what `make demo` runs, and their tests
# run `main`.
CHEAP = (
    "qa.ask",
    "qa.evaluate",
    "export.onnx",
    "export.tflite",
    "export.android",
    "compress.embeddings",
)
SLOW = ("export.tflite", "export.android", "compress.embeddings")  # run with -m system
OWN_MODEL = ("BUNDLE", "CHECKPOINT")
HUB = "deepset/"  # no test has a network


def commands(pattern):
    """(page, module, arguments) of every command, long ones over several lines; each once."""
    found = {}
    for page in PAGES:
        text = re.sub(r" \\\n\s+", " ", page.read_text(encoding="utf-8"))
        for program, words in pattern.findall(text):
            module = program.removeprefix("-m ").removesuffix(".py").replace("/", ".")
            rest = words
            if module == "qa.data.convert":  # several commands
                word, _, rest = words.strip().partition(" ")
                module = f"{module} {word}"
            if module.split(".")[0] in ("qa", "distill", "compress", "export", "benchmarks"):
                found[module, rest] = page.relative_to(ROOT)
    return [(str(page), module, shlex.split(rest)) for (module, rest), page in found.items()]


@cache
def flags_of(module):
    """The options of a command, as its --help has them."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), pytest.raises(SystemExit):
        tyro.cli(options_of(module), args=["--help"])
    return set(re.findall(r"--[a-z][a-z0-9-]*", shown.getvalue()))


def test_there_are_commands():
    assert len(commands(COMMAND)) > 25
    assert len(commands(EXAMPLE)) > 25


@pytest.mark.parametrize(("page", "module", "arguments"), commands(COMMAND))
def test_a_documented_command_exists_with_its_options(page, module, arguments):
    unknown = {a for a in arguments if a.startswith("--")} - flags_of(module) - {"--help"}
    assert not unknown, f"{page}: python -m {module} has no {', '.join(sorted(unknown))}"


@pytest.mark.parametrize(("page", "module", "arguments"), commands(EXAMPLE))
def test_an_example_has_all_that_its_command_needs_and_values_that_it_takes(
    page, module, arguments, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FOLDER" / "wikipedia").mkdir(parents=True)  # which qa.data.convert looks for
    # Without what may be left out.
    given = [a for a in arguments if not (a.startswith("[") or a.endswith("]"))]
    tyro.cli(options_of(module), args=given)


@pytest.fixture
def place(make_bundle, tiny_export, small_squad, tmp_path, monkeypatch):
    """A folder with what the examples name, tiny."""
    made = {
        "teacher": make_bundle(seed=1),
        "student": make_bundle(),
        "tuned": make_bundle(),
        "student-pruned": make_bundle(pruned=True),
        "student-pruned-tflite-int8": tiny_export("tflite").path,
    }
    for run in ("demo", "mine", "own"):
        (tmp_path / "runs" / run).mkdir(parents=True)
        for name, bundle in made.items():
            (tmp_path / "runs" / run / name).symlink_to(bundle)
    (tmp_path / "runs" / "parts").mkdir()
    for name in ("dev-v1.1.json", "dev-v2.0.json", "runs/parts/held_out.json"):
        shutil.copy(small_squad, tmp_path / name)
    (tmp_path / "passage.txt").write_text("In spring she lived in Paris, then in Rome.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("page", "module", "arguments"),
    [
        pytest.param(*one, marks=pytest.mark.system) if one[1] in SLOW else one
        for one in commands(EXAMPLE)
        if one[1] in CHEAP
        and not {"--push", "--lengths"} & {*one[2]}  # no phone; lengths that the tiny model lacks
        and not any(HUB in a for a in one[2])
    ],
)
def test_cheap_examples_run_as_they_stand(page, module, arguments, place):
    demo = place / "runs" / "demo"
    if module == "export.tflite":  # which makes it
        for run in ("demo", "mine", "own"):
            (place / "runs" / run / "student-pruned-tflite-int8").unlink()
    bundle = demo / ("student-pruned-tflite-int8" if module == "export.android" else "student")
    # A random model keeps fewer of its best spans than a trained one.
    any_spans = ["--min-equal-spans", "0"] if module in ("export.onnx", "export.tflite") else []
    run_command(command_of(module), [*(str(bundle) if a in OWN_MODEL else a for a in arguments), *any_spans])


def test_links_lead_somewhere():
    broken = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            if path.startswith("http"):
                continue
            file = page.parent / path if path else page
            page_text = file.read_text(encoding="utf-8") if file.suffix == ".md" else ""
            headings = re.findall(r"^#+ (.*)$", page_text, re.MULTILINE)
            names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            if not file.exists() or (anchor and anchor not in names):
                broken.append(f"{page.name}: {target}")
    assert broken == []
