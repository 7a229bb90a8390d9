"""The command that a user would type next, printed at the end of a stage: it runs as it is printed."""

import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from qa.base.commands import COMMANDS
from qa.base.errors import OptionError
from qa.base.shipped import ASKED, STUDENT, TEACHER, shipped


def typed(name: str) -> str:
    """Return how a command is started: as this process was, by `pocketqa` or by a Python."""
    program = sys.argv[0]
    if Path(program).stem != "pocketqa":
        return f"{shlex.quote(sys.orig_argv[0])} -m {COMMANDS[name].module}"
    found = shutil.which("pocketqa")
    is_on_path = found is not None and Path(found).absolute() == Path(program).absolute()
    return f"{'pocketqa' if is_on_path else shlex.quote(program)} {name}"


def say_next(name: str, *arguments: object) -> None:
    """Print the next command with its arguments; paths below the working folder are relative to it."""
    print(f"next: {typed(name)} {shlex.join(map(_as_typed, arguments))}", flush=True)


def _as_typed(argument: object) -> str:
    here = Path.cwd()
    if isinstance(argument, Path) and argument.is_absolute() and argument.is_relative_to(here):
        argument = argument.relative_to(here)
    is_like_a_flag = isinstance(argument, Path) and str(argument).startswith("-")
    return f"./{argument}" if is_like_a_flag else str(argument)


def in_runs(data: Path, what: str) -> Path:
    """Return a folder in runs, named after a data file and what becomes of it."""
    return Path("runs") / f"{data.name.partition('.')[0]}-{what}"


def say_next_training(data: Path) -> None:
    """Print how to train on new questions: the shipped student, or an encoder without the checkout."""
    try:
        shipped(STUDENT)
    except OptionError:
        say_next("finetune", "--data", data, "--out", in_runs(data, "model"))
        return
    say_next("fit", data, "--out", in_runs(data, "fit"))


def say_next_training_on_part(train: Path, held_out: Path, out: Path) -> None:
    """Print how to train on a part and to score on the other, as `benchmarks.fit` trains the student."""
    given = ("--data", train, "--eval-data", held_out, "--out", out)
    try:
        student = shipped(STUDENT)
    except OptionError:
        say_next("finetune", *given)
        return
    settings = ("--alpha", 1, "--hidden-weight", 0, "--epochs", 4, "--learning-rate", 1e-4)
    say_next("qat", "--model", student, *settings, *given)


def say_next_distilling(data: Path) -> None:
    """Print how a teacher trains a student on new questions; nothing without the checkout."""
    with suppress(OptionError):
        shipped(TEACHER)
        say_next("distill", "--data", data, "--out", in_runs(data, "distilled"))


def say_next_scoring(data: Path) -> None:
    """Print how to score on new questions: the shipped file; nothing without the checkout."""
    with suppress(OptionError):
        say_next("evaluate", "--data", data, "--model", shipped(ASKED))
