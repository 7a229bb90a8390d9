"""The command that a user would type next, printed at the end of a stage."""

import shlex
import sys
from pathlib import Path

from qa.base.commands import COMMANDS


def typed(module: str) -> str:
    """Return how a command is started: as `pocketqa NAME` where this process was, else with `python -m`."""
    names = {target.partition(":")[0].removesuffix(".__main__"): name for name, target in COMMANDS.items()}
    by_name = Path(sys.argv[0]).stem == "pocketqa"
    return f"pocketqa {names[module]}" if by_name else f"python -m {module}"


def say_next(module: str, *arguments: object) -> None:
    """Print the next command with its arguments."""
    print(f"next: {typed(module)} {shlex.join(map(str, arguments))}", flush=True)
