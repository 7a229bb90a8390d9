"""The command line `pocketqa`: the same commands as `python -m`, listed and completed without loading what
they need."""

import contextlib
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig

import pytest
from places import ROOT

from qa.base.commands import COMMANDS, main, run_command
from qa.models.heads import HEADS


def help_of(run, capsys):
    with pytest.raises(SystemExit) as caught:
        run()
    assert caught.value.code == 0
    return re.match(r"(usage: .*? \[-h\])(.*)", " ".join(capsys.readouterr().out.split())).groups()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_as_its_module_does_and_every_option_tells_its_default(
    name, monkeypatch, capsys
):
    module, *word = COMMANDS[name].module.split()
    monkeypatch.setattr(sys, "argv", ["pocketqa", *name.split(), "--help"])
    usage, ours = help_of(main, capsys)
    assert usage == f"usage: pocketqa {name} [-h]"
    # Every option tells its default in words or as a value.
    assert "None" not in ours
    assert "False)" not in ours
    if name == "completion":  # a part of pocketqa itself
        return
    if hasattr(sys.modules.get(module), "__path__"):  # a package, which other modules hold on to
        monkeypatch.delitem(sys.modules, f"{module}.__main__", raising=False)
    else:
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, "argv", [module, *word, "--help"])
    usage, theirs = help_of(lambda: runpy.run_module(module, run_name="__main__", alter_sys=True), capsys)
    assert usage == f"usage: python -m {COMMANDS[name].module} [-h]"
    assert theirs == ours


LISTED = """
import sys
from qa.base.commands import main
main()
print(sorted({"torch", "numpy", "tyro", "distill.run", "export.exporter"} & set(sys.modules)))
"""


def test_all_commands_are_listed_with_a_line_each_and_nothing_is_loaded_for_it():
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    words = [sys.executable, "-c", LISTED]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    lines = done.stdout.splitlines()
    assert [line[:23].strip() for line in lines[2:-1]] == list(COMMANDS)
    assert "  prune                Prune a model, then let it recover against its teacher." in lines
    assert lines[-1] == "[]"


HELP = """
import runpy, sys
for module in sys.argv[1:]:
    sys.argv = [module, "--help"]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert end.code == 0, module
    heavy = {"torch", "transformers", "onnx", "onnxruntime", "ai_edge_litert", "matplotlib"}
    loaded = heavy & set(sys.modules)
    assert not loaded, f"{module} --help imports {loaded}"
"""


def command_modules():
    return {command.module.split()[0] for command in COMMANDS.values()} - {"qa.base.completion"}


def test_help_is_printed_without_heavy_libraries():
    modules = command_modules()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", HELP, *sorted(modules)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("usage: ") == len(modules)


def test_every_command_is_in_the_docs():
    pages = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("*/README.md"),
    ]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    missing = [
        name
        for name, command in COMMANDS.items()
        if f"python {command.typed}" not in text and f"pocketqa {name}" not in text
    ]
    assert missing == []


def shown(arguments, monkeypatch, capsys):
    """Return the output of `pocketqa ARGUMENTS`."""
    monkeypatch.setattr(sys, "argv", ["pocketqa", *arguments.split()])
    with contextlib.suppress(SystemExit):
        main()
    return capsys.readouterr().out


def groups_of(text):
    """The flags of a help text by group."""
    parts = re.split(r"^(required|common|expert):$", text, flags=re.MULTILINE)[1:]
    return {
        title: re.findall(r"^  (\S+)", part, re.MULTILINE)
        for title, part in zip(parts[::2], parts[1::2], strict=True)
    }


def test_help_comes_in_three_groups_with_the_commands_own_options_first(monkeypatch, capsys):
    groups = groups_of(shown("prune --help", monkeypatch, capsys))
    assert groups["required"] == ["--model"]
    assert groups["common"][:3] == ["--method", "--epochs", "--learning-rate"]
    assert {"--seed", "--alpha", "--importance-windows"} <= set(groups["expert"])
    assert groups_of(shown("sample --help", monkeypatch, capsys))["required"] == ["--out", "--questions"]


def test_positional_arguments_have_their_names(monkeypatch, capsys):
    assert groups_of(shown("table --help", monkeypatch, capsys))["required"] == ["ROWS"]
    assert shown("ask --help", monkeypatch, capsys).startswith("usage: pocketqa ask [-h] [OPTIONS] TEXT ...")
    assert groups_of(shown("convert rows --help", monkeypatch, capsys))["required"] == ["FILE", "--out"]


def test_heads_and_the_defaults_of_the_recipe_are_in_the_help(monkeypatch, capsys):
    text = " ".join(shown("distill --help", monkeypatch, capsys).split())
    assert f"Fresh head of the student: {', '.join(HEADS)}." in text
    assert "Peak learning rate of the student. By default that of --recipe; in embedded 0.0004." in text


def test_version_and_help_as_words(monkeypatch, capsys):
    assert re.fullmatch(r"pocketqa \d+\.\d+\.\d+\n", shown("--version", monkeypatch, capsys))
    assert shown("help", monkeypatch, capsys) == shown("--help", monkeypatch, capsys)
    assert shown("help sample", monkeypatch, capsys) == shown("sample --help", monkeypatch, capsys)
    listed = shown("export --help", monkeypatch, capsys)
    assert "export tflite" in listed
    assert "finetune" not in listed


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("frobnicate", "pocketqa frobnicate: no such command; pocketqa --help lists all"),
        ("distil --out x", "pocketqa distil: no such command; did you mean distill?"),
        ("aks", "pocketqa aks: no such command; did you mean ask?"),
        ("quantize", "pocketqa quantize: no such command; did you mean quantize-embeddings?"),
        ("export tflight", "pocketqa export: no such command; there are export onnx, export tflite, "),
        ("convert x.csv", "pocketqa convert: no such command; there are convert rows, convert triviaqa"),
        ("export", "pocketqa export: no such command; there are export onnx, export tflite, "),
        ("sample --questions 0 --out x.json", "--questions must be at least 1, got 0"),
    ],
)
def test_a_mistake_gets_one_line(words, says, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pocketqa", *words.split()])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    stderr = capsys.readouterr().err
    assert stderr.startswith(f"error: {says}")
    assert stderr.count("\n") == 1


def test_a_command_of_two_words_without_what_it_needs_names_its_own_help(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["pocketqa", "convert", "rows", "x.csv"])
    with pytest.raises(SystemExit):
        main()
    assert set(re.findall(r"(\S+ \S+ \S+) --help", capsys.readouterr().err)) == {"pocketqa convert rows"}


def test_a_package_that_is_not_installed_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "msgspec", None)
    for name in [name for name in sys.modules if name.startswith("benchmarks")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "argv", ["pocketqa", "table", "rows.jsonl"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert capsys.readouterr().err == "error: msgspec is not installed; pip install 'pocketqa[export]'\n"


def test_a_package_that_a_command_imports_late_is_named_too(make_bundle, monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "qa.models.model", None)
    (tmp_path / "passage.txt").write_text("Rain fell.")
    words = ["--model", str(make_bundle()), "--question", "?", "--context", str(tmp_path / "passage.txt")]
    with pytest.raises(SystemExit) as caught:
        run_command("ask", words)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("error: a PyTorch bundle needs qa.models.model, which is not ")


@pytest.fixture(scope="module")
def completion(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "pocketqa"
    words = [sys.executable, "-m", "qa.base.commands", "completion", "bash"]
    path.write_text(subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout)
    return path


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("pocketqa dis", ["distill"]),
        ("pocketqa export t", ["tflite"]),
        ("pocketqa distill --student-", ["--student-encoder", "--student-layers", "--student-head"]),
        ("pocketqa export onnx --q", ["--quantize"]),
    ],
)
def test_bash_completes_commands_and_their_flags(completion, words, offered):
    complete = f"source {completion}; COMP_WORDS=({words}); COMP_CWORD=$(({len(words.split())} - 1)); "
    complete += '_shtab_pocketqa; printf "%s\\n" "${COMPREPLY[@]}"'
    found = subprocess.run(["bash", "-c", complete], capture_output=True, text=True, check=True).stdout
    assert sorted(found.split()) == sorted(offered)


def test_bash_completes_files_where_a_text_is_wanted(completion):
    assert "complete -o bashdefault -o default -F _shtab_pocketqa pocketqa" in completion.read_text()


# A folder without __init__.py, which an editable install does not come before.
NAMESPACE = 'import sys; path = sys.path[1:]; sys.path[1:] = ["folder"]; import qa; sys.path[1:] = path; '


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "-m qa.base.commands export tflite --help",
            "error: {0}/export.py hides PocketQA's package export; ",
        ),
        ("-c 'import qa as own; import pocketqa'", "ImportError: {0}/own/qa.py hides PocketQA's package "),
        (f"-c '{NAMESPACE}import pocketqa'", "ImportError: {0}/folder/qa hides PocketQA's package "),
    ],
)
def test_a_users_module_that_hides_a_package_is_named(words, says, tmp_path):
    (tmp_path / "own").mkdir()
    for path in (tmp_path / "export.py", tmp_path / "own" / "qa.py"):
        path.touch()
    (tmp_path / "folder" / "qa").mkdir(parents=True)
    own = f"{tmp_path / 'own'}{os.pathsep}{ROOT}"
    environment = {**os.environ, "PYTHONPATH": own if words.startswith("-c") else str(ROOT)}
    command = [sys.executable, *shlex.split(words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode in (1, 2)
    assert done.stderr.splitlines()[-1].startswith(says.format(tmp_path))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A virtual environment with the project's wheel, and a function that runs a program of it in a folder."""
    tmp_path = tmp_path_factory.mktemp("installed")
    source = tmp_path / "source"
    venv = tmp_path / "venv"
    patterns = ".* runs build *.egg-info tests android_demo docs *.jsonl __pycache__ model.[os]* node_modules"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*patterns.split()))
    environment = {**os.environ, "PYTHONPATH": ""}  # which may name the source
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, source], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (wheel,) = tmp_path.glob("pocketqa-*.whl")
    install = [*pip, "--python", venv / "bin" / "python", "install", "--no-deps", wheel]
    subprocess.run(install, check=True, env=environment)

    def say(program, *words):
        command = [venv / "bin" / program, *words]
        return subprocess.check_output(command, text=True, cwd=tmp_path, env=environment)

    assert "distill" in say("pocketqa")  # without any other package
    (site_packages,) = (venv / "lib").glob("python3*/site-packages")
    (site_packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return site_packages, say


SCRIPT = """
import pocketqa
from pocketqa import Answer, PocketQAError, Reader, __version__


def ask(model: Reader) -> Answer:
    try:
        return model.answer("When is it due?", "The rent is 900 euros. It is due on Monday.")
    except PocketQAError as error:
        raise SystemExit(str(error)) from None


answer = ask(pocketqa.load())
start: int | None = answer.start
print(__version__.count("."), answer.text, start)
"""


def test_an_installed_wheel_answers_outside_the_checkout(installed):
    site_packages, say = installed
    assert "usage: pocketqa sample" in say("pocketqa", "sample", "--help")
    shown = {path.name for path in (site_packages / "benchmarks" / "show").iterdir()}
    assert {"page.css", "page.html.j2", "page.js"} < shown
    assert (site_packages / "export" / "web" / "page" / "index.html").is_file()
    assert say("python", "-c", SCRIPT) == "2 Monday 36\n"
    models = [path.name for path in (site_packages / "pocketqa" / "models").iterdir()]
    assert models == ["student-tflite-int8"]


@pytest.mark.system
def test_mypy_knows_the_types_of_an_installed_wheel(installed, tmp_path):
    site_packages, _ = installed
    wrong = "pocketqa.load().answer(1, '')\npocketqa.nothing\n"
    (tmp_path / "script.py").write_text(SCRIPT + wrong)
    python = site_packages.parents[2] / "bin" / "python"
    words = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "script.py"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}
    )
    assert [line.rpartition("[")[2] for line in done.stdout.splitlines()[:-1]] == [
        "arg-type]",
        "attr-defined]",
    ]
