"""The whole command line: each command is a row that names its options and its work.

pocketqa distill --student-layers 3
"""

import ast
import difflib
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
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
    """Words that a user types after `python`: -m and a module, or a file."""
    options: str
    """Dataclass of the options, or a union of subcommands, as module:name."""
    work: str
    """Function of the options, as module:name."""

    @property
    def module(self) -> str:
        """Module whose docstring explains the command."""
        if self.typed.startswith("-m "):
            return self.typed.removeprefix("-m ")
        return self.typed.removesuffix(".py").replace("/", ".")


COMMANDS = {
    "ask": Command("-m qa.ask", "qa.ask:AskOptions", "qa.ask:ask_and_exit"),
    "evaluate": Command("-m qa.evaluate", "qa.evaluate:EvaluateOptions", "qa.evaluate:evaluate"),
    "fit": Command("-m benchmarks.fit", "benchmarks.fit:FitOptions", "benchmarks.fit_and_compare:fit"),
    "sample": Command("-m qa.data.sample", "qa.data.sample:SampleOptions", "qa.data.sample:write_sample"),
    "convert": Command(
        "-m qa.data.convert", "qa.data.convert.convert:Options", "qa.data.convert.convert:convert"
    ),
    "augment": Command(
        "-m qa.data.augment",
        "qa.data.augment.augment:AugmentOptions",
        "qa.data.augment.augment:write_augmented",
    ),
    "checkpoint": Command(
        "-m qa.bundles.hf_import",
        "qa.bundles.hf_import:CheckpointOptions",
        "qa.bundles.hf_import:import_model",
    ),
    "finetune": Command(
        "-m distill.finetune", "distill.options:FinetuneOptions", "distill.train_on_gold:finetune"
    ),
    "average": Command("-m distill.average", "distill.average:AverageOptions", "distill.average:average"),
    "adapter": Command(
        "-m distill.adapter", "distill.adapter:AdapterOptions", "distill.adapter:apply_adapter"
    ),
    "logits": Command("-m distill.logits", "distill.logits:LogitsOptions", "distill.logits:compute_logits"),
    "unlabelled": Command(
        "-m distill.unlabelled",
        "distill.unlabelled.make:UnlabelledOptions",
        "distill.unlabelled.make:add_unlabelled",
    ),
    "distill": Command("-m distill.run", "distill.options:DistillOptions", "distill.train_on_teacher:distil"),
    "prune": Command("-m compress.prune", "compress.options:PruneOptions", "compress.prune.prune:prune"),
    "qat": Command("-m compress.qat", "compress.options:QATOptions", "compress.qat.train:train"),
    "quantize-embeddings": Command(
        "-m compress.embeddings",
        "compress.embeddings:EmbeddingsOptions",
        "compress.embeddings:quantize_embeddings",
    ),
    "cast": Command("-m compress.cast", "compress.cast:CastOptions", "compress.cast:cast"),
    "export onnx": Command("-m export.onnx", "export.options:OnnxOptions", "export.onnx.exporter:export"),
    "export tflite": Command(
        "-m export.tflite", "export.options:TFLiteOptions", "export.tflite.exporter:export"
    ),
    "export android": Command(
        "-m export.android", "export.android.check:AndroidOptions", "export.android.check:check_or_push"
    ),
    "export web": Command("-m export.web", "export.options:WebOptions", "export.web.publish:publish"),
    "tune": Command("-m export.tune", "export.tune:TuneOptions", "export.tune:tune"),
    "compare": Command(
        "benchmarks/compare.py", "benchmarks.options:CompareOptions", "benchmarks.measure_and_show:compare"
    ),
    "phone": Command(
        "-m benchmarks.phone", "benchmarks.phone:PhoneOptions", "benchmarks.phone:measure_on_phone"
    ),
    "table": Command("-m benchmarks.table", "benchmarks.table:TableOptions", "benchmarks.table:print_tables"),
    "differences": Command(
        "-m benchmarks.differences",
        "benchmarks.differences:DifferencesOptions",
        "benchmarks.differences:print_differences",
    ),
    "curves": Command(
        "-m benchmarks.curves", "benchmarks.curves:CurvesOptions", "benchmarks.curves:print_curves"
    ),
    "reliability": Command(
        "-m benchmarks.reliability",
        "benchmarks.reliability:ReliabilityOptions",
        "benchmarks.reliability:print_reliability",
    ),
    "completion": Command(
        "-m qa.base.completion", "qa.base.completion:CompletionOptions", "qa.base.completion:print_completion"
    ),
}
USAGE = "usage: pocketqa COMMAND [OPTIONS]; pocketqa COMMAND --help explains the options"


def source_of(module: str) -> Path:
    """Return the file of a module, or of a package that `python -m` runs, without importing it."""
    spec = find_spec(module)
    if spec is not None and spec.submodule_search_locations:
        spec = find_spec(f"{module}.__main__")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)


def summary(name: str) -> str:
    """Return the first paragraph of the docstring of a command's module without importing it."""
    source = source_of(COMMANDS[name].module).read_text(encoding="utf-8")
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


def run_command(name: str, arguments: Sequence[str] | None = None, program: str | None = None) -> None:
    """Parse the options of a command from the command line and do its work; see `qa.base.cli.run_with`."""
    command = COMMANDS[name]
    with errors_on_one_line():
        options = resolve_name(command.options)
    run_with(options, lambda: resolve_name(command.work), arguments, program)


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
    run_command(name, arguments, f"pocketqa {name}")


if __name__ == "__main__":
    main()
