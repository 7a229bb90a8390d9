"""Run export.android.stage as a command."""

from export.android.stage import main
from qa.base.cli import run_command

if __name__ == "__main__":
    run_command(main)
