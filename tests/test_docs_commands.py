"""What README and docs say can be typed: every command exists, with its options, and every link leads somewhere."""

import contextlib
import io
import re
import shlex
from pathlib import Path
from pkgutil import resolve_name

import pytest
import tyro

from qa.cli import options_of
from qa.commands import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "benchmarks/results/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
COMMAND = re.compile(r"python (-m [a-z_.]+|benchmarks/compare\.py)((?: (?!&&|->)[^\s`#]+)*)")


def commands():
    """(page, module, arguments) of every command, long ones over several lines; each once."""
    found = {}
    for page in PAGES:
        text = re.sub(r" \\\n\s+", " ", page.read_text(encoding="utf-8"))
        for program, rest in COMMAND.findall(text):
            module = program.removeprefix("-m ").removesuffix(".py").replace("/", ".")
            if module.split(".")[0] in ("qa", "distill", "compress", "export", "benchmarks"):
                found[module, rest] = page.relative_to(ROOT)
    return [(str(page), module, shlex.split(rest)) for (module, rest), page in found.items()]


def flags_of(module, subcommand):
    """The options of a command, as its --help has them."""
    (target,) = {target for target in COMMANDS.values() if target.partition(":")[0].removesuffix(".__main__") == module}
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), pytest.raises(SystemExit):
        tyro.cli(options_of(resolve_name(target)), args=[*subcommand, "--help"])
    return set(re.findall(r"--[a-z][a-z0-9-]*", shown.getvalue()))


def test_there_are_commands():
    assert len(commands()) > 25


@pytest.mark.parametrize(("page", "module", "arguments"), commands())
def test_a_documented_command_exists_with_its_options(page, module, arguments):
    subcommand = arguments[:1] if module == "qa.convert" else []
    unknown = {a for a in arguments if a.startswith("--")} - flags_of(module, subcommand) - {"--help"}
    assert not unknown, f"{page}: python -m {module} has no {', '.join(sorted(unknown))}"


def test_links_lead_somewhere():
    broken = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            if path.startswith("http"):
                continue
            file = page.parent / path if path else page
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE) if file.suffix == ".md" else []
            names = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            if not file.exists() or (anchor and anchor not in names):
                broken.append(f"{page.name}: {target}")
    assert broken == []
