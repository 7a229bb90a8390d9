"""Print a script that completes commands and their flags in a shell.

pocketqa completion bash > ~/.local/share/bash-completion/completions/pocketqa
"""

from argparse import ArgumentParser
from contextlib import suppress
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Literal

import shtab
import tyro

from qa.base.commands import COMMANDS, summary


@dataclass(frozen=True)
class CompletionOptions:
    """Print a completion script."""

    shell: tyro.conf.Positional[Literal["bash", "zsh", "tcsh"]]
    """Shell that completes the commands."""


def parser() -> ArgumentParser:
    """Build a parser of all commands with their flags; a command whose packages are missing has no flags."""
    root = ArgumentParser("pocketqa")
    groups = {"": root.add_subparsers()}
    for name, command in COMMANDS.items():
        group, _, last = name.rpartition(" ")
        if group not in groups:  # one without help is not completed
            groups[group] = groups[""].add_parser(group, help=group).add_subparsers()
        flags: list[Any] = []  # tyro's parser is of a copy of argparse
        with suppress(ModuleNotFoundError):
            flags = [tyro.extras.get_parser(resolve_name(command.options))]
        groups[group].add_parser(last, help=summary(name), parents=flags, add_help=not flags)
    return root


def print_completion(options: CompletionOptions) -> None:
    """Print the script."""
    script = shtab.complete(parser(), options.shell)
    # Without "default", bash completes no file where a text is wanted, such as the files of `ask`.
    print(script.replace("complete -o bashdefault", "complete -o bashdefault -o default"))
