"""Commands by name: each is the `main` of a module that `python -m` runs too.

pocketqa distill --student-layers 3
"""

import ast
import shutil
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

from qa.base.cli import end_unread, fail, not_installed, run_command
from qa.base.errors import OptionError

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
    "logits": "distill.logits:main",
    "unlabelled": "distill.unlabelled.__main__:main",
    "distill": "distill.run:main",
    "prune": "compress.prune.__main__:main",
    "qat": "compress.qat.__main__:main",
    "quantize-embeddings": "compress.embeddings:main",
    "cast": "compress.cast:main",
    "search": "benchmarks.search.__main__:main",
    "export onnx": "export.onnx.__main__:main",
    "export tflite": "export.tflite.__main__:main",
    "export android": "export.android.__main__:main",
    "export android-tokens": "export.android.tokens:main",
    "export web": "export.web.__main__:main",
    "tune": "export.tune:main",
    "export times": "export.tflite.times:main",
    "compare": "benchmarks.compare:command",
    "table": "benchmarks.table:main",
    "differences": "benchmarks.differences:main",
    "curves": "benchmarks.curves:main",
    "reliability": "benchmarks.reliability:main",
    "parameters": "benchmarks.parameters:main",
    "training-speed": "benchmarks.training_speed:command",
    "completion": "qa.base.completion:main",
}
USAGE = "usage: pocketqa COMMAND [OPTIONS]; pocketqa COMMAND --help explains the options"


def summary(name: str) -> str:
    """Return the first line of the docstring of a command's module without importing it."""
    spec = find_spec(COMMANDS[name].partition(":")[0])
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def overview() -> str:
    """List every command with a line about it."""
    indent = max(map(len, COMMANDS)) + 4
    width = shutil.get_terminal_size().columns
    lines = [
        textwrap.fill(
            summary(name), width, initial_indent=f"  {name}".ljust(indent), subsequent_indent=" " * indent
        )
        for name in COMMANDS
    ]
    return "\n".join([USAGE, "", *lines])


def split_command(words: list[str]) -> tuple[str, list[str]]:
    """Split `words` into the command, of one word or two, and its arguments.

    OptionError when they begin with no command.
    """
    for n in (2, 1):
        if (name := " ".join(words[:n])) in COMMANDS:
            return name, words[n:]
    alike = [name for name in COMMANDS if name.startswith(f"{words[0]} ")]
    raise OptionError(f"pocketqa {words[0]}: no such command; there are {', '.join(alike or COMMANDS)}")


def main() -> None:
    """Run the command that the command line names, or list all."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        try:
            print(overview(), flush=True)
        except BrokenPipeError:
            end_unread()
        return
    try:
        name, arguments = split_command(words)
        command = resolve_name(COMMANDS[name])
    except OptionError as error:
        fail(error)
    except ModuleNotFoundError as error:
        fail(not_installed(error))
    run_command(command, arguments, f"pocketqa {name}")


if __name__ == "__main__":
    main()
