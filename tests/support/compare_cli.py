"""benchmarks/compare.py run as from a shell, for several test files."""

import sys

from qa.base.commands import run_command


def run_cli(monkeypatch, *words):
    """Exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["compare", *map(str, words)])
    try:
        run_command("compare")
    except SystemExit as stop:
        return stop.code
    return 0
