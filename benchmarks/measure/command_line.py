"""The command that repeats a run, from its options; results record it."""

import os
import shlex
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from qa.base.cli import flag_of
from qa.base.printable import on_one_line


def relative(value: Any) -> str:
    """Return a path relative to the current folder, anything else as it is."""
    return os.path.relpath(value) if Path(str(value)).is_absolute() else str(value)


def command_line_of(script: str, config: Any, positional: str = "") -> str:
    """Return `python SCRIPT` with every option of `config` that is not at its default; paths are relative.

    `script` is a file, or "-m" and a module. The values of the field `positional` stand without a flag.
    """
    words = ["python", *script.split()]
    for option in fields(config):
        value = getattr(config, option.name)
        if option.default is MISSING or value != option.default:
            values = value if isinstance(value, tuple) else (value,)
            flag = [] if option.name == positional else [flag_of(option.name)]
            words += [*flag, *(relative(each) for each in values if each is not True)]
    return shlex.join(words)


def note(text: str) -> None:
    """Print one line of progress to stderr."""
    print(on_one_line(text), file=sys.stderr, flush=True)
