"""Run qa.data.augment.stage as a command."""

from qa.base.cli import run_command
from qa.data.augment.stage import main

if __name__ == "__main__":
    run_command(main)
