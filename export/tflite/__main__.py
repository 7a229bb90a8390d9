"""Run export.tflite.stage as a command."""

from export.tflite.stage import main
from qa.base.cli import run_command

if __name__ == "__main__":
    run_command(main)
