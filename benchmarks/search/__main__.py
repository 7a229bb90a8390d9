"""Run benchmarks.search.stage as a command."""

from benchmarks.search.stage import main
from qa.base.cli import run_command

if __name__ == "__main__":
    run_command(main)
