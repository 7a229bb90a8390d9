"""The command that docs or recipes type, by its module, with a word where the module has several."""

from pkgutil import resolve_name

from qa.base.commands import COMMANDS


def command_of(module):
    """Name of the command."""
    (name,) = [name for name, command in COMMANDS.items() if command.module == module]
    return name


def options_of(module):
    """Return the dataclass of its options."""
    return resolve_name(COMMANDS[command_of(module)].options)
