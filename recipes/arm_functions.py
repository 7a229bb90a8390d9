"""Count where a window's instructions go on an emulated ARM64 CPU, by the functions of the runtime.

    benchmarks/measure/arm64_python.sh
    python recipes/arm_functions.py models/student-tflite-int8 neoverse-n1 170
    python recipes/arm_functions.py models/student-tflite-int8 neoverse-n1/litert-1.4.0 170

The third argument is the window's length in tokens. It needs nm and readelf of binutils. A function without a
symbol of its own counts for the symbol before it.
"""

import os
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmarks.measure.hosts import SETUP, QemuTarget
from benchmarks.results.rows import QEMU
from qa.base.cli import errors_on_one_line
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle
from qa.runtime.remote import ROOT

LEAST_SHARE = 0.005  # of a function with a line of its own
# What runs under QEMU: a window of random tokens, after one that packs the weights, between two marks.
WINDOW = """
import os, pathlib, sys
import numpy as np
from benchmarks.measure.worker import load
weights, tokens, maps = sys.argv[1:]
call = load(pathlib.Path(weights), 1).call
shape = (1, int(tokens))
inputs = {name: np.ones(shape, np.int64) for name in ("attention_mask", "token_type_ids")}
inputs["input_ids"] = np.random.default_rng(0).integers(1000, 20000, shape)
call(inputs)
os.getppid()
call(inputs)
os.getppid()
pathlib.Path(maps).write_text(pathlib.Path("/proc/self/maps").read_text())
"""


def executable_files(maps: str) -> list[tuple[int, int, int, str]]:
    """Return (first address, last address + 1, offset in the file, file) of code in a process's memory."""
    found = []
    for line in maps.splitlines():
        addresses, rights, offset, _, _, *name = line.split(maxsplit=5)
        if "x" in rights and name:
            first, last = (int(text, 16) for text in addresses.split("-"))
            found.append((first, last, int(offset, 16), name[0]))
    return found


class Symbols:
    """The functions of a library."""

    def __init__(self, listed: str, segments: str) -> None:
        """Read what `nm --demangle` and `readelf -lW` print of it."""
        words = (line.split(maxsplit=2) for line in listed.splitlines())
        named = sorted((int(w[0], 16), w[2]) for w in words if len(w) == 3 and w[1] in "tTwWiI")
        self.addresses = [address for address, _ in named]
        self.names = [name for _, name in named]
        loads = (line.split() for line in segments.splitlines() if line.split()[:1] == ["LOAD"])
        self.segments = sorted((int(w[1], 16), int(w[2], 16)) for w in loads)

    def at(self, offset: int) -> str:
        """Return the function at an offset in the file."""
        begin, address = self.segments[bisect_right(self.segments, (offset, sys.maxsize)) - 1]
        index = bisect_right(self.addresses, offset - begin + address) - 1
        return self.names[index] if index >= 0 else "?"


def read_symbols(path: str) -> Symbols:
    """Read the functions of a library; those that it exports where it has no others."""
    texts = []
    for command in (["nm", "--demangle"], ["nm", "--demangle", "--dynamic"], ["readelf", "-lW"]):
        texts.append(subprocess.run([*command, path], capture_output=True, text=True, check=False).stdout)
    return Symbols(texts[0] or texts[1], texts[2])


def count_by_function(blocks: str, maps: str) -> Mapping[str, int]:
    """Return the instructions of each function, from what the counter wrote and the memory of the process."""
    files = executable_files(maps)
    symbols: dict[str, Symbols] = {}
    counts: Counter[str] = Counter()
    for line in blocks.splitlines():
        address, executed = int(line.split()[0], 16), int(line.split()[1])
        inside = [file for file in files if file[0] <= address < file[1]]
        name = "code of no file"
        for first, _, offset, path in inside:
            if path not in symbols:
                symbols[path] = read_symbols(path)
            name = symbols[path].at(address - first + offset)
        counts[name] += executed
    return counts


def main(bundle: str, cpu: str, tokens: str) -> None:
    """Run a window, and print its instructions by function."""
    target = QemuTarget(QEMU + cpu)
    with tempfile.TemporaryDirectory() as folder:
        marks, blocks, maps = (Path(folder) / name for name in ("marks", "blocks", "maps"))
        counting = {"ICOUNT_FILE": str(marks), "ICOUNT_BLOCKS": str(blocks), "LITERT": target.litert}
        environment = os.environ | counting
        weights = str(open_bundle(Path(bundle)).weights.absolute())
        command = [
            str(SETUP.absolute() / "python-arm64"),
            target.cpu,
            "-c",
            WINDOW,
            weights,
            tokens,
            str(maps),
        ]
        status = subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode
        if status:
            raise OptionError(f"{bundle}: no window of {tokens} tokens ran on {cpu} (exit status {status})")
        counts = count_by_function(blocks.read_text(), maps.read_text())
    total = sum(counts.values())
    print(f"{total / 1e6:8.2f} M instructions for {tokens} tokens on {cpu}")
    for name, n in sorted(counts.items(), key=lambda item: -item[1]):
        if n >= LEAST_SHARE * total:
            print(f"{n / 1e6:8.2f} M {n / total:6.1%}  {name}")


if __name__ == "__main__":
    with errors_on_one_line():
        if len(sys.argv) != 4 or not sys.argv[3].isdecimal():
            raise OptionError("usage: python recipes/arm_functions.py BUNDLE CPU TOKENS")
        main(*sys.argv[1:])
