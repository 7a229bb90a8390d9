"""Machines other than this process's own on which `benchmarks/runner.py` can compute: a host by ssh, a CPU under QEMU.

A target puts a weights file in place and then runs the runner on it as often as wanted; a host also serves it to be timed. What
fails there is a TargetError of one line.
"""

import io
import json
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.command_line import note
from benchmarks.rows import machine
from benchmarks.timing.workers import Servable
from qa.errors import OptionError, PocketQAError
from qa.runtimes import Logits

RUNNER = Path(__file__).parents[1] / "runner.py"
SSH, QEMU = "ssh:", "qemu:"
TARGETS = "cpu, cuda, ssh:USER@HOST or qemu:CPU, such as ssh:pi@raspberrypi.local or qemu:neoverse-n1"


class TargetError(PocketQAError):
    """A target cannot be reached, lacks something, or stopped half-way; the message names it and what to do."""


@dataclass(frozen=True)
class Outcome:
    """What the runner brought back: logits of each window, each (T,), times of its calls (N, repeats), and facts."""

    logits: list[Logits]
    times_ms: np.ndarray
    facts: dict[str, Any]
    instructions: np.ndarray | None = None
    """Instructions of each call, (N, repeats), where they were counted."""


@dataclass(frozen=True)
class Placed:
    """A weights file where a target computes it."""

    run: Callable[[Path], Outcome]
    """The runner on a windows file."""
    server: Servable | None = None
    """What serves it to be timed; None where times mean nothing."""


class Target(Protocol):
    """One machine to measure on."""

    name: str
    """As the user wrote it, and as rows have it."""
    emulated: bool
    """Whether times mean nothing there, and instructions are counted instead."""

    def place(self, weights: Path) -> AbstractContextManager[Placed]:
        """Put a weights file where the runner reads it; it is removed in the end."""
        ...

    def describe(self, facts: Mapping[str, Any]) -> str:
        """The machine in one line, from the facts of an outcome."""
        ...


def open_target(name: str) -> Target:
    """The target of that name, once it is known to be there. OptionError or TargetError when it is not."""
    from benchmarks.targets.qemu import QemuTarget
    from benchmarks.targets.ssh import SshTarget

    if name.startswith(SSH) and len(name) > len(SSH):
        return SshTarget(name)
    if name.startswith(QEMU) and len(name) > len(QEMU):
        return QemuTarget(name)
    raise OptionError(f"--target must be {TARGETS}, got {name}")


def read_outcome(content: bytes, windows: Path, where: str) -> Outcome:
    """Parse the runner's output for a windows file; TargetError when it is not whole or not of these windows."""
    with np.load(windows) as sent:
        n_tokens = sent["n_tokens"]
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            start, end, times_ns, facts = (file[name] for name in ("start_logits", "end_logits", "times_ns", "facts"))
        if not (start.shape == end.shape == (n_tokens.sum(),) and times_ns.ndim == 2 and len(times_ns) == len(n_tokens)):
            raise ValueError("other windows than were sent")
        cuts = np.cumsum(n_tokens)[:-1]
        logits = list(zip(np.split(start, cuts), np.split(end, cuts), strict=True))
        return Outcome(logits, times_ns / 1e6, dict(json.loads(str(facts))))
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise TargetError(f"{where}: the runner's output is not whole ({error}); run the command again") from None


def follow(command: Sequence[str], where: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run a command whose lines are progress, shown as they come: (exit code, the line that says what went wrong)."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace", env=env
        ) as process:
            assert process.stdout is not None  # it is a pipe
            for line in process.stdout:
                note(f"{where}: {line.rstrip()}")
        errors.seek(0)
        return process.returncode, complaint(errors.read(), process.returncode)


def complaint(stderr: str, code: int) -> str:
    """The runner's own line of error, else the last line, else the exit code."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    own = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (own or lines or [f"exit code {code}"])[-1]


def describe_machine(facts: Mapping[str, Any]) -> str:
    """A machine in one line from the runner's facts: the board's name where it has one, CPU, cores, instruction sets."""
    cpu = machine(facts.get("cpuinfo", ""), facts.get("cores"), facts.get("architecture"))
    return ", ".join(text for text in (facts.get("board"), cpu) if text)
