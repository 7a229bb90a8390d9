"""The whole command line: each command is a row that names its options and its work.

pocketqa distill --student-layers 3
"""

import ast
import difflib
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from pkgutil import resolve_name

from qa.base.cli import errors_on_one_line, run_with
from qa.base.errors import OptionError
from qa.base.help import HELP


@dataclass(frozen=True)
class Command:
    """Start, options and work of a command, as names that load nothing.

    Importing `options` loads no library that takes long; `work` is only imported once the options are sound.
    """

    typed: str
    """Words that a user types after `python`: -m and a module, or a file; a word where it has several."""
    options: str
    """Dataclass of the options, as module:name."""
    work: str
    """Function of the options, as module:name."""

    @property
    def module(self) -> str:
        """Module that a user types after `python -m`, and a word where it has several commands."""
        return self.typed.removeprefix("-m ").removesuffix(".py").replace("/", ".")


def _in_one_file(module: str, options: str, work: str, typed: str = "") -> Command:
    """Return a command whose options and work are in one module; a user types `typed`, or that module."""
    return Command(f"-m {typed or module}", f"{module}:{options}", f"{module}:{work}")


COMMANDS = {
    "ask": _in_one_file("qa.ask", "AskOptions", "ask_and_exit"),
    "evaluate": _in_one_file("qa.evaluate", "EvaluateOptions", "evaluate"),
    "fit": Command("-m benchmarks.fit", "benchmarks.fit:FitOptions", "benchmarks.fit_and_compare:fit"),
    "split": _in_one_file("qa.split", "SplitOptions", "split"),
    "sample": _in_one_file("qa.data.sample", "SampleOptions", "write_sample"),
    "convert rows": _in_one_file(
        "qa.data.convert.rows", "RowsOptions", "convert_rows", "qa.data.convert rows"
    ),
    "convert triviaqa": _in_one_file(
        "qa.data.convert.triviaqa", "TriviaQAOptions", "convert_triviaqa", "qa.data.convert triviaqa"
    ),
    "augment": _in_one_file(
        "qa.data.augment.augment", "AugmentOptions", "write_augmented", "qa.data.augment"
    ),
    "checkpoint": _in_one_file("qa.bundles.hf_import", "CheckpointOptions", "import_model"),
    "finetune": Command(
        "-m distill.finetune", "distill.options:FinetuneOptions", "distill.train_on_gold:finetune"
    ),
    "average": _in_one_file("distill.average", "AverageOptions", "average"),
    "adapter": _in_one_file("distill.adapter", "AdapterOptions", "apply_adapter"),
    "logits": _in_one_file("distill.logits", "LogitsOptions", "compute_logits"),
    "unlabelled": _in_one_file(
        "distill.unlabelled.make", "UnlabelledOptions", "add_unlabelled", "distill.unlabelled"
    ),
    "distill": Command("-m distill.run", "distill.options:DistillOptions", "distill.train_on_teacher:distil"),
    "prune": Command("-m compress.prune", "compress.options:PruneOptions", "compress.prune.prune:prune"),
    "qat": Command("-m compress.qat", "compress.options:QATOptions", "compress.qat.train:train"),
    "quantize-embeddings": _in_one_file("compress.embeddings", "EmbeddingsOptions", "quantize_embeddings"),
    "cast": _in_one_file("compress.cast", "CastOptions", "cast"),
    "export onnx": Command("-m export.onnx", "export.options:OnnxOptions", "export.onnx.exporter:export"),
    "export tflite": Command(
        "-m export.tflite", "export.options:TFLiteOptions", "export.tflite.exporter:export"
    ),
    "export android": _in_one_file(
        "export.android.check", "AndroidOptions", "check_or_push", "export.android"
    ),
    "export web": Command("-m export.web", "export.options:WebOptions", "export.web.publish:publish"),
    "tune": _in_one_file("export.tune", "TuneOptions", "tune"),
    "compare": Command(
        "benchmarks/compare.py", "benchmarks.options:CompareOptions", "benchmarks.measure_and_show:compare"
    ),
    "phone": Command(
        "-m benchmarks.phone", "benchmarks.phone:PhoneOptions", "benchmarks.benchmark_model:measure_on_phone"
    ),
    "table": _in_one_file("benchmarks.table", "TableOptions", "print_tables"),
    "differences": _in_one_file("benchmarks.differences", "DifferencesOptions", "print_differences"),
    "curves": _in_one_file("benchmarks.curves", "CurvesOptions", "print_curves"),
    "completion": _in_one_file("qa.base.completion", "CompletionOptions", "print_completion"),
}
USAGE = "usage: pocketqa COMMAND [OPTIONS]; pocketqa COMMAND --help explains the options"


def summary(name: str) -> str:
    """Return the first paragraph of the docstring of a command's module without importing it."""
    source = Path(__file__).parents[2].joinpath(*re.split(r"[. ]", COMMANDS[name].module))
    source = source / "__main__.py" if source.is_dir() else source.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


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


def run_command(name: str, arguments: Sequence[str] | None = None, program: str | None = None) -> None:
    """Parse the options of a command from the command line and do its work; see `qa.base.cli.run_with`."""
    command = COMMANDS[name]
    with errors_on_one_line():
        options = resolve_name(command.options)
    run_with(options, lambda: resolve_name(command.work), arguments, program)


def main(group: str = "") -> None:
    """Run the command that the command line names, in `group` where one is given, or list all."""
    words = [group, *sys.argv[1:]] if group else sys.argv[1:]
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    listed = f"{words[0]} " if len(words) == 2 and words[1] in HELP else "no group"
    is_group = any(name.startswith(listed) for name in COMMANDS)
    with errors_on_one_line():
        if not words or words[0] in HELP or is_group:
            print(overview(listed if is_group else ""))
            return
        if words[0] == "--version":
            print(version())
            return
        name, arguments = split_command(words)
    run_command(name, arguments, f"python {COMMANDS[name].typed}" if group else f"pocketqa {name}")


if __name__ == "__main__":
    main()
