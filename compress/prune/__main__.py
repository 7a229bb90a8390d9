"""Run compress.prune.stage as a command."""

from compress.prune.stage import main
from qa.base.cli import run_command

if __name__ == "__main__":
    run_command(main)
