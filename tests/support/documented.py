"""The function behind a command that docs or recipes type."""

from pkgutil import resolve_name

from qa.base.commands import COMMANDS


def main_of(module):
    (target,) = {
        target for target in COMMANDS.values() if target.partition(":")[0].removesuffix(".__main__") == module
    }
    return resolve_name(target)
