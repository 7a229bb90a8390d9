"""The command that a user would type next, printed at the end of a stage."""

import shlex
import sys
from pathlib import Path

from qa.base.commands import COMMANDS


def typed(name: str) -> str:
    """Return how a command is started: as `pocketqa NAME` where this process was, else with `python`."""
    by_name = Path(sys.argv[0]).stem == "pocketqa"
    return f"pocketqa {name}" if by_name else f"python {COMMANDS[name].typed}"


def say_next(name: str, *arguments: object) -> None:
    """Print the next command with its arguments."""
    print(f"next: {typed(name)} {shlex.join(map(str, arguments))}", flush=True)
