"""A host by ssh: the system's ssh client carries files and commands, so its keys, config and jump hosts all work.

Files go through `cat` over the same client: boards with a small ssh server have neither scp nor sftp. Timing takes place in a
process for each model, which answers over its ssh connection as the processes of this machine answer over a pipe.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.targets.target import (
    RUNNER,
    SSH,
    Outcome,
    Placed,
    TargetError,
    complaint,
    describe_machine,
    follow,
    read_outcome,
)
from benchmarks.timing import serve
from qa.cli import check_option

# No question is ever asked; a host that is silent for a minute is gone.
OPTIONS = (
    "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4",
)  # fmt: skip
SSH_FAILED = 255  # ssh's own exit code; any other is the command's
NO_PYTHON = 97
FOLDER = re.compile(r"/[-\w./+@:]+")

# A virtual environment ~/pocketqa if there is one: many systems let pip install nowhere else.
FIND_PYTHON = f'python="$HOME/pocketqa/bin/python"; [ -x "$python" ] || python=$(command -v python3) || exit {NO_PYTHON}'
SENT = {RUNNER: "benchmarks/runner.py", Path(serve.__file__): "benchmarks/timing/serve.py"}  # and where, in a folder of the host
INSTALL = "python3 -m venv pocketqa && pocketqa/bin/pip install numpy ai-edge-litert onnxruntime"


class SshTarget:
    """A host that ssh reaches without a password. Opening it connects once; TargetError says what is in the way."""

    emulated = False

    def __init__(self, name: str) -> None:
        self.name = name
        # ssh itself understands ssh://user@host:port.
        self.host = name if name.startswith("ssh://") else name.removeprefix(SSH)
        plain = re.fullmatch(r"[^-\s][^\s]*", self.host) is not None and self.host.isprintable()
        check_option(plain, "--target", repr(name), "ssh:USER@HOST")
        self._shell(FIND_PYTHON)

    def describe(self, facts: Mapping[str, Any]) -> str:
        """The machine in one line."""
        return describe_machine(facts)

    @contextmanager
    def place(self, weights: Path) -> Iterator[Placed]:
        """Copy weights and runner into a new folder of the host, removed in the end."""
        folder = self._shell('mktemp -d "${TMPDIR:-/tmp}/pocketqa.XXXXXX"').decode(errors="replace").strip().splitlines()[-1:]
        if not folder or not FOLDER.fullmatch(folder[0]):
            raise TargetError(f"{self.name}: mktemp gave no folder but {folder}; does its shell print something at login?")

        def run(windows: Path) -> Outcome:
            self.send(windows, f"{folder[0]}/windows.npz")
            words = [f"{folder[0]}/{SENT[RUNNER]}", "--weights", f"{folder[0]}/{weights.name}"]
            words += ["--windows", f"{folder[0]}/windows.npz", "--out", f"{folder[0]}/out.npz"]
            code, said = follow(self.command(f'{FIND_PYTHON}; "$python" {shlex.join(words)}'), self.name)
            if code != 0:
                raise self._error(code, said, "the connection was lost half-way")
            return read_outcome(self._shell(f"cat {folder[0]}/out.npz"), windows, self.name)

        try:
            self._shell(f"mkdir -p {folder[0]}/benchmarks/timing")
            for path, there in (SENT | {weights: weights.name}).items():
                self.send(path, f"{folder[0]}/{there}")
            yield Placed(run, SshServer(self, folder[0], weights.name))
        finally:
            with suppress(TargetError):  # a host that is gone keeps the folder; the error that matters is on its way already
                self._shell(f"rm -rf {folder[0]}")

    def command(self, script: str) -> list[str]:
        """The words that run a script on the host."""
        return ["ssh", *OPTIONS, "--", self.host, f"sh -c {shlex.quote(script)}"]

    def _shell(self, script: str, stdin: Any = subprocess.DEVNULL) -> bytes:
        """Run a script on the host: its output."""
        try:
            done = subprocess.run(self.command(script), stdin=stdin, capture_output=True, check=False)
        except FileNotFoundError:
            raise TargetError(
                f"--target {self.name} needs the ssh client, which is not installed; install openssh-client"
            ) from None
        if done.returncode != 0:
            raise self._error(done.returncode, complaint(done.stderr.decode(errors="replace"), done.returncode), "ssh failed")
        return done.stdout

    def send(self, path: Path, there: str) -> None:
        """Copy a file to the host."""
        with open(path, "rb") as file:
            self._shell(f"cat > {there}", file)

    def _error(self, code: int, said: str, lost: str) -> TargetError:
        if code == SSH_FAILED:
            hint = f"'{shlex.join(['ssh', self.host, 'true'])}' must work without a password"
            return TargetError(f"{self.name}: {lost} ({said}); {hint}")
        if code == NO_PYTHON:
            return TargetError(f"{self.name}: has no python3; install Python 3.9 or newer there")
        hint = f"; ssh {self.host} '{INSTALL}'" if "not installed" in said or "none is installed" in said else ""
        return TargetError(f"{self.name}: {said}{hint}")


@dataclass(frozen=True)
class SshServer:
    """A weights file in a folder of a host, served there to be timed."""

    target: SshTarget
    folder: str
    weights: str
    exit_when_lost: ClassVar[int] = SSH_FAILED

    def command(self, threads: int, cores: Sequence[int]) -> tuple[list[str], dict[str, str]]:
        """The words that start it over ssh, and their environment."""
        words = ["-m", "benchmarks.timing.serve", "benchmarks.runner", f"{self.folder}/{self.weights}"]
        words += ["--threads", str(threads), "--cores", *map(str, cores)]
        # OMP_NUM_THREADS as on this machine.
        setting = f"PYTHONPATH={self.folder} OMP_NUM_THREADS={threads}"
        return self.target.command(f'{FIND_PYTHON}; {setting} exec "$python" {shlex.join(words)}'), dict(os.environ)

    def carry(self, path: Path) -> str:
        """Copy a file into the folder."""
        there = f"{self.folder}/{path.name}"
        self.target.send(path, there)
        return there
