"""An ARM64 CPU under QEMU's user mode: what a model answers there, and how many instructions that takes; never how long.

`benchmarks/arm64_python.sh` sets it up. QEMU emulates floating point in software, so its time tells nothing about a CPU's; the
instructions a program executes are the CPU's own, and a plugin counts them between the marks that the runner sets around
each runtime call. Loading, packing of weights and Python's start are therefore not in the count. It repeats: a second run of two
windows of a 3-layer int8 student differed by 15 in 267 million instructions in LiteRT, by 0.05 % in ONNX Runtime.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import useful_flags
from benchmarks.targets.target import QEMU, RUNNER, Outcome, Placed, TargetError, follow, read_outcome

SETUP = Path("runs/arm64")
SETUP_COMMAND = "benchmarks/arm64_python.sh"


class QemuTarget:
    """One of the CPUs that the set-up knows. TargetError when there is no set-up, or not of that CPU."""

    emulated = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.cpu = name.removeprefix(QEMU)
        versions = SETUP / "versions.txt"  # written last
        if not versions.is_file():
            raise TargetError(f"--target {name}: {SETUP} has no ARM64 Python; run {SETUP_COMMAND} once")
        known = sorted(path.name for path in (SETUP / "cpus").iterdir())
        if self.cpu not in known:
            raise TargetError(f"--target {name}: no such CPU; there are {', '.join(QEMU + cpu for cpu in known)}")
        self.qemu = versions.read_text(encoding="utf-8").splitlines()[0]

    def describe(self, facts: Mapping[str, Any]) -> str:
        """CPU, emulator and instruction sets; nothing of the machine that emulates."""
        return ", ".join(text for text in (f"{self.cpu} under {self.qemu}", useful_flags(facts.get("cpuinfo", ""))) if text)

    @contextmanager
    def place(self, weights: Path) -> Iterator[Placed]:
        """Nothing needs to be copied: QEMU reads this machine's files."""
        with tempfile.TemporaryDirectory() as folder:

            def run(windows: Path) -> Outcome:
                out, marks = Path(folder) / "out.npz", Path(folder) / "marks"
                marks.unlink(missing_ok=True)
                words = [RUNNER, "--weights", weights.absolute(), "--windows", windows, "--out", out, "--threads", "1"]
                command = [str(word) for word in (SETUP.absolute() / "python-arm64", self.cpu, *words)]
                code, said = follow(command, self.name, {**os.environ, "ICOUNT_FILE": str(marks)})
                if code != 0:
                    raise TargetError(f"{self.name}: {said}")
                outcome = read_outcome(out.read_bytes(), windows, self.name)
                counts = count_between_marks(marks.read_text(encoding="ascii"), outcome.times_ms.size)
                return replace(outcome, instructions=counts.reshape(outcome.times_ms.shape))

            yield Placed(run)


def count_between_marks(text: str, n_calls: int) -> np.ndarray:
    """Instructions of each call, (n_calls,), from the plugin's lines: the count before and after each call, one a line."""
    try:
        marks = np.array([int(line) for line in text.splitlines()], np.int64)
    except ValueError:
        marks = np.zeros(0, np.int64)
    if len(marks) != 2 * n_calls or (np.diff(marks) < 0).any():
        raise TargetError(f"the instruction counter set {len(marks)} marks for {n_calls} calls; run {SETUP_COMMAND} again")
    return marks[1::2] - marks[::2]
