"""Command line of every stage: parse a dataclass of options, report a user's error in one line."""

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from qa.base.errors import HALF_PAIR, OptionError, PocketQAError
from qa.base.help import HELP, help_of
from qa.base.printable import on_one_line
from qa.base.quiet import quiet_libraries
from qa.base.stops import Terminated, signals_of_a_stop

NEGATIVE = re.compile(r"-[\d.]+[eE][-+]?\d+")
EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
EXIT_TERMINATED = 143


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line; a full disk and a missing permission are put in words."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        where = f" while writing {error.filename}" if error.filename else ""
        again = "free some space and run the command again (nothing half-written was kept)"
        return f"the disk is full{where}; {again}"
    if isinstance(error, OSError) and error.filename and error.strerror:
        return on_one_line(f"{error.filename}: {error.strerror}")
    return on_one_line(str(error)).strip() or type(error).__name__


@contextmanager
def errors_on_one_line() -> Iterator[None]:
    """Exit with one line for a user's error, a missing package or a stop; silently once nobody reads."""
    _replace_closed_streams()
    try:
        try:
            yield
        except SystemExit:
            _flush_stdout()
            raise
        _flush_stdout()
    except BrokenPipeError:  # the reader of the output (such as `head`) has closed the pipe
        _flush_or_drop_stdout()
        sys.exit(EXIT_BROKEN_PIPE)
    except (PocketQAError, OSError, ModuleNotFoundError) as error:
        line = one_line(error)
        if isinstance(error, ModuleNotFoundError):
            extra = "bench" if error.name == "matplotlib" else "export"
            how = f"pip install 'pocketqa[{extra}]'"
            line = _hidden(error.name or "") or f"{error.name} is not installed; {how}"
        with suppress(OSError):  # nobody may read that, either
            print(f"error: {line}", file=sys.stderr)
        _flush_or_drop_stdout()
        sys.exit(EXIT_USER_ERROR)
    except KeyboardInterrupt as stop:
        with suppress(OSError):
            print("interrupted", file=sys.stderr)
        _flush_or_drop_stdout()
        sys.exit(EXIT_TERMINATED if isinstance(stop, Terminated) else EXIT_INTERRUPTED)


def _replace_closed_streams() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # print would take stdout instead
            null = open(os.devnull, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
            setattr(sys, name, null)  # as long as the process


def _flush_stdout() -> None:
    """Write what was printed. At Python's exit, a failure would be a trace and exit code 120."""
    if not sys.stdout.closed:
        sys.stdout.flush()


def _flush_or_drop_stdout() -> None:
    try:
        _flush_stdout()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _hidden(module: str) -> str:
    """Return what hides a package of the project, which is a user's module of the same name; or nothing."""
    name = module.partition(".")[0]
    packages = Path(__file__).parents[2]
    spec = find_spec(name) if (packages / name / "__init__.py").is_file() else None
    if spec is None or spec.origin is None or Path(spec.origin).is_relative_to(packages / name):
        return ""
    return f"{spec.origin} hides PocketQA's package {name}; rename it, or start from another folder"


def run_with(
    options: Any,
    work: Callable[[], Callable[[Any], Any]],
    arguments: Sequence[str] | None = None,
    program: str | None = None,
) -> None:
    """Parse `options`, a dataclass, from the command line and call the work.

    `work` returns the function to call: it is only asked for one once the options are sound. A user's error
    ends the process with one line and exit code 2. `arguments` default to those of the process. `program` is
    the name in usage lines, by default how the process was started. Libraries stay quiet in the whole process
    from here on.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    quiet_libraries()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack the characters of a passage
    import tyro

    with signals_of_a_stop(), errors_on_one_line():
        # tokenizers, safetensors and the runtimes cannot open a file of such a name
        if wrong := next(filter(HALF_PAIR.search, arguments), None):
            raise OptionError(f"{wrong!a}: is not UTF-8; give it, or the file it names, another name")
        arguments = list(map(_with_home, arguments))
        program = program or _program()
        if set(HELP) & set(arguments):
            print(help_of(options, program), end="", flush=True)
            sys.exit(0)
        arguments = _words_first(tyro.extras.get_parser(options), arguments)
        given = tyro.cli(options, prog=program, args=arguments)
        work()(given)


def _with_home(argument: str) -> str:
    """Return --flag=~/x with the home folder: shells replace ~ at the beginning of a word only."""
    flag, equals, value = argument.partition("=")
    is_home = flag.startswith("--") and value.startswith("~/")
    return f"{flag}{equals}{os.path.expanduser(value)}" if is_home else argument


def _words_first(parser: Any, arguments: Sequence[str]) -> Sequence[str]:
    """Return the words that belong to no option before all options: argparse finds them in one place only."""
    values = {flag: action.nargs for action in parser._actions for flag in action.option_strings}
    if "--" in arguments:
        return arguments
    seen: set[str] = set()
    words = []
    given = []
    n_values: Any = 0  # that the last option still takes, or "*"
    for argument in arguments:
        if argument.startswith("--"):
            flag, is_whole, _ = argument.partition("=")
            flag = flag.replace("_", "-")
            if flag in seen and values.get(flag) == "*":  # the second would replace the values of the first
                raise OptionError(f"{flag}: is given twice; give all its values behind one {flag}")
            seen.add(flag)
            n_values = 0 if is_whole else values.get(flag, "*")
            given.append(argument)
        elif n_values == 1 and NEGATIVE.fullmatch(argument):  # argparse would take it for a flag
            given[-1] += f"={argument}"
            n_values = 0
        elif n_values:
            n_values = n_values if n_values == "*" else n_values - 1
            given.append(argument)
        else:
            words.append(argument)
    return [*words, *given]


def _program() -> str:
    """Return how this process was started, as a user types it."""
    spec = sys.modules["__main__"].__spec__
    return f"python {sys.argv[0]}" if spec is None else f"python -m {spec.name.removesuffix('.__main__')}"


def flag_of(option: str) -> str:
    """Return the flag of an option's field."""
    return "--" + option.replace("_", "-")


def changed(options: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return those of the named fields that are not at their defaults, with their values."""
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value != getattr(type(options), name)}


def check_option(ok: bool, flag: str, value: object, wanted: str) -> None:
    """Raise OptionError with the flag, its value and what it must be, unless `ok`."""
    if not ok:
        raise OptionError(f"{flag} must be {wanted}, got {value}")


def check_choice(flag: str, value: object, known: Collection[str]) -> None:
    """Raise OptionError with the flag, its value and the choices, unless the value is one of them."""
    check_option(value in known, flag, value, f"one of {', '.join(known)}")


def check_exclusive(both: bool, flag: str, other: str) -> None:
    """Raise OptionError when two options that exclude each other are `both` given."""
    if both:
        raise OptionError(f"{flag} cannot be combined with {other}")
