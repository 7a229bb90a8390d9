"""Commands by name: each is the `main` of a module that `python -m` runs too.

pocketqa distill --student-layers 3
"""

import ast
import difflib
import shutil
import sys
import textwrap
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

from qa.base.cli import errors_on_one_line, run_command
from qa.base.errors import OptionError
from qa.base.help import HELP

# A module is imported when its command is called: asking loads no training code, listing loads no command.
COMMANDS = {
    "ask": "qa.ask:main",
    "evaluate": "qa.evaluate:main",
    "sample": "qa.data.sample:main",
    "convert": "qa.data.convert.__main__:main",
    "augment": "qa.data.augment.__main__:main",
    "checkpoint": "qa.bundles.hf_import:main",
    "finetune": "distill.finetune:main",
    "average": "distill.average:main",
    "adapter": "distill.adapter:main",
    "logits": "distill.logits:main",
    "unlabelled": "distill.unlabelled.__main__:main",
    "distill": "distill.run:main",
    "prune": "compress.prune.__main__:main",
    "qat": "compress.qat.__main__:main",
    "quantize-embeddings": "compress.embeddings:main",
    "cast": "compress.cast:main",
    "export onnx": "export.onnx.__main__:main",
    "export tflite": "export.tflite.__main__:main",
    "export android": "export.android.__main__:main",
    "export android-tokens": "export.android.tokens:main",
    "export web": "export.web.__main__:main",
    "tune": "export.tune:main",
    "push": "qa.bundles.push:main",
    "export times": "export.tflite.times:main",
    "compare": "benchmarks.compare:command",
    "phone": "benchmarks.phone:main",
    "table": "benchmarks.table:main",
    "differences": "benchmarks.differences:main",
    "curves": "benchmarks.curves:main",
    "reliability": "benchmarks.reliability:main",
    "completion": "qa.base.completion:main",
}
USAGE = "usage: pocketqa COMMAND [OPTIONS]; pocketqa COMMAND --help explains the options"


def summary(name: str) -> str:
    """Return the first paragraph of the docstring of a command's module without importing it."""
    spec = find_spec(COMMANDS[name].partition(":")[0])
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    paragraph = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[0]
    return " ".join(paragraph.split())


def overview(group: str = "") -> str:
    """List every command, or those of a group such as export, with a line about each."""
    indent = max(map(len, COMMANDS)) + 4
    width = shutil.get_terminal_size().columns
    lines = [
        textwrap.fill(
            summary(name), width, initial_indent=f"  {name}".ljust(indent), subsequent_indent=" " * indent
        )
        for name in COMMANDS
        if name.startswith(group)
    ]
    return "\n".join([USAGE, "", *lines])


def split_command(words: list[str]) -> tuple[str, list[str]]:
    """Split `words` into the command, of one word or two, and its arguments.

    OptionError when they begin with no command.
    """
    for n in (2, 1):
        if (name := " ".join(words[:n])) in COMMANDS:
            return name, words[n:]
    raise OptionError(f"pocketqa {words[0]}: no such command; {advice(words)}")


def advice(words: list[str]) -> str:
    """Return what the user may have meant: the rest of a group, similar names, or the list of all."""
    group = [name for name in COMMANDS if name.startswith(f"{words[0]} ")]
    if group:
        return f"there are {', '.join(group)}"
    typed = {" ".join(words[:n]) for n in (1, 2)}
    alike = {name for word in typed for name in difflib.get_close_matches(word, COMMANDS)}
    longer = {name for name in COMMANDS if len(words[0]) > 3 and words[0] in name}
    meant = [name for name in COMMANDS if name in alike | longer]
    return f"did you mean {' or '.join(meant)}?" if meant else "pocketqa --help lists all"


def version() -> str:
    """Return the installed version of the project."""
    try:
        return f"pocketqa {metadata.version('pocketqa')}"
    except metadata.PackageNotFoundError:
        raise OptionError("pocketqa is not installed, so it has no version; run make install") from None


def main() -> None:
    """Run the command that the command line names, or list all."""
    words = sys.argv[1:]
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    group = f"{words[0]} " if len(words) == 2 and words[1] in HELP else "no group"
    is_group = any(name.startswith(group) for name in COMMANDS)
    with errors_on_one_line():
        if not words or words[0] in HELP or is_group:
            print(overview(group if is_group else ""), flush=True)
            return
        if words[0] == "--version":
            print(version())
            return
        name, arguments = split_command(words)
        command = resolve_name(COMMANDS[name])
    run_command(command, arguments, f"pocketqa {name}")


if __name__ == "__main__":
    main()
