"""Make one peer's artefact, in that peer's environment.

    python -m benchmarks.peers.prepare openvino-int8 --source PLAIN_ONNX --out FOLDER --calibration windows.npz

`--source` is a PyTorch bundle, or what the peer's own source made of it (benchmarks/peers/registry.py). Prints one JSON object,
{"versions": {...}}; everything else goes to stderr.
"""

import argparse
import importlib
import json
import os
import sys
from pathlib import Path

from benchmarks.peers.registry import STEPS

EXIT_USER_ERROR = 2


def main() -> None:
    """Prepare into a new empty folder; exit code 2 with one line for what the user can act on."""
    parser = argparse.ArgumentParser(description="Make one peer's artefact.")
    parser.add_argument("peer", choices=STEPS, metavar="PEER", help=", ".join(STEPS))
    parser.add_argument("--source", type=Path, required=True, help="PyTorch bundle, or what the peer's source made of it")
    parser.add_argument("--out", type=Path, required=True, help="folder to make; it must not exist, or be empty")
    parser.add_argument("--calibration", type=Path, required=True, help="windows file, which static quantization reads")
    options = parser.parse_args()
    peer = STEPS[options.peer]
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries print
    adapter = importlib.import_module(peer.module)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        if any(options.out.iterdir()):
            raise ValueError(f"--out {options.out}: is not empty; give a new folder")
        versions = adapter.prepare(options.source, options.out, options.calibration, peer.precision)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(EXIT_USER_ERROR)
    print(json.dumps({"versions": versions}), file=replies, flush=True)


if __name__ == "__main__":
    main()
