"""Help of a command in three groups: what it needs, what most users set, and what experts set."""

import inspect
import re
import shutil
import textwrap
from dataclasses import MISSING, fields
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

T = TypeVar("T")
EXPERT = "expert"
Expert = Annotated[T, EXPERT]
"""Type of an option that few users set: `seed: Expert[int] = 0`."""
HELP = ("-h", "--help")
GROUPS = ("required", "common", EXPERT)
INDENT = 6
# Defaults that say nothing: the option is off, or its text says in words what holds without it.
NO_VALUE = re.compile(r" ?\(default: (None|False|)\)| ?\((required|repeatable)\)")


def help_of(options: Any, program: str) -> str:
    """Return the help of a command with `options`, a dataclass: its options by group."""
    import tyro

    parser: Any = tyro.extras.get_parser(options, prog=program)
    hints = get_type_hints(options, include_extras=True)
    experts = {name for name, hint in hints.items() if EXPERT in get_args(hint)}
    required = {f.name for f in fields(options) if f.default is MISSING and f.default_factory is MISSING}
    groups: dict[str, list[str]] = {name: [] for name in GROUPS}
    for action in sorted(parser._actions, key=lambda action: _place(options, action)):
        if not set(action.option_strings) & set(HELP):
            name = _field(action)
            group = "required" if name in required else EXPERT if name in experts else "common"
            groups[group].append(_entry(action))
    words = [f"{name}:\n{''.join(entries)}" for name, entries in groups.items() if entries]
    positional = [_name(action) for action in parser._actions if not action.option_strings]
    usage = " ".join([f"usage: {program} [-h] [OPTIONS]", *positional])
    return "\n".join([usage, "", _paragraph(parser.description), *words])


def _entry(action: Any) -> str:
    """Format an option: its flag and type, and below it what it does."""
    text = NO_VALUE.sub("", " ".join(action.help.replace("%%", "%").split()))
    return f"  {_name(action)}\n{_paragraph(text, INDENT)}"


def _name(action: Any) -> str:
    """Return an option's flag and type, or the name of a positional argument."""
    several = " ..." if action.nargs == "*" else ""
    if not action.option_strings:
        return _field(action).upper() + several
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    kind = metavar.replace("{None}|", "").strip("{}[]").partition(" ")[0]
    return f"{action.option_strings[0]} {kind}".rstrip() + several


def _field(action: Any) -> str:
    """Return the name of the dataclass field behind an action."""
    return str(action.dest).rpartition(" ")[2].replace("-", "_")


def _place(options: Any, action: Any) -> int:
    """Return where an option stands in its group: a command's own options before inherited ones."""
    names = [name for kind in options.__mro__ for name in inspect.get_annotations(kind)]
    return names.index(_field(action)) if _field(action) in names else 0


def _paragraph(text: str | None, indent: int = 0) -> str:
    """Wrap a text to the terminal; a line ends it."""
    width = min(100, shutil.get_terminal_size().columns)
    space = " " * indent
    words = " ".join((text or "").split())
    filled = textwrap.fill(
        words, width, initial_indent=space, subsequent_indent=space, break_on_hyphens=False
    )
    return f"{filled}\n"
