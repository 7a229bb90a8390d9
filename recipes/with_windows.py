"""A bundle with the weights of another, whose windows have another length.

    python recipes/with_windows.py models/teacher 512 runs/football/squad-512

The no-answer threshold is tuned again where the bundle has held-out questions, unless it was tuned on other
files.
"""

import sys
from dataclasses import replace
from pathlib import Path

import msgspec

from distill.save import derive
from qa.base.cli import errors_on_one_line
from qa.bundles.bundle import Bundle, check_new_bundle
from qa.bundles.hf_import import open_model
from qa.models.model import QAModel


def main(model: Path, max_length: int, out: Path) -> Bundle:
    """Write the bundle `out`: `model` with windows of at most `max_length` tokens."""
    check_new_bundle(out)
    parent = open_model(model, format="pytorch")
    parent = replace(parent, settings=replace(parent.settings, max_length=max_length))
    weights = QAModel.from_pretrained(parent.path)
    weights.check_windows(parent.settings)
    record = msgspec.structs.replace(parent.manifest.of_model(), precision="fp32")
    return derive(weights, out, parent, record)


if __name__ == "__main__":
    if len(sys.argv) != 4 or not sys.argv[2].isdecimal():
        raise SystemExit("usage: python recipes/with_windows.py BUNDLE MAX_LENGTH OUT")
    with errors_on_one_line():
        main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
