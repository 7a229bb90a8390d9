"""Where workers run: on this machine in any Python environment, on a host by ssh, on an ARM64 CPU under QEMU.

A worker is a process of `benchmarks/measure/worker.py`, asked in the same way over ssh as here
(qa/runtime/remote.py).
"""

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure.conditions import describe, useful_flags
from benchmarks.measure.process import WORKER
from benchmarks.results.rows import QEMU, SSH, Machine
from qa.base.cli import check_option
from qa.base.errors import OptionError, PocketQAError
from qa.bundles.bundle import Bundle
from qa.formats.registry import FORMATS
from qa.runtime.remote import ROOT, Deployment, complaint, exit_text

# All of the project that a worker needs, beside the module of a bundle's runtime.
WORKER_FILES = (
    "benchmarks/measure/worker.py",
    "qa/base/errors.py",
    "qa/formats/registry.py",
    "qa/formats/tensors.py",
    "qa/formats/tflite.py",
    "qa/runtime/engines.py",
    "qa/runtime/remote.py",
)
SHELL_TIMEOUT_S = 600.0  # of a command or a file over ssh
TARGETS = (
    "cpu, cuda, ssh:USER@HOST, qemu:CPU or qemu:CPU/litert-1.4.0, such as ssh:pi@raspberrypi.local or "
    "qemu:neoverse-n1"
)


class TargetError(PocketQAError):
    """A target cannot be reached, lacks something, or stopped half-way; the message names it and what to
    do.
    """


def on_this_machine(
    path: Path, adapter: str | None = None, python: Path = Path(sys.executable), precision: str | None = None
) -> Deployment:
    """A bundle's weights, or what an adapter module loads, by the Python that has its libraries.

    `precision` is for an adapter that computes one model in several.
    """
    return Deployment(
        (str(python), "-m", WORKER),
        {"path": str(path.absolute()), "adapter": adapter, "precision": precision},
    )


def open_target(name: str) -> "Target":
    """The target of that name, once it is known to be there. OptionError or TargetError when it is not."""
    for beginning, kind in ((SSH, SshTarget), (QEMU, QemuTarget)):
        if name.startswith(beginning) and len(name) > len(beginning):
            return kind(name)
    raise OptionError(f"--target must be {TARGETS}, got {name}")


# No question is ever asked; a host that is silent for a minute is gone.
SSH_OPTIONS = (
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=4",
)
SSH_FAILED = 255  # ssh's own exit code; any other is the command's
NO_PYTHON = 97
FOLDER = re.compile(r"/[-\w./+@:]+")
# A virtual environment ~/pocketqa if there is one: many systems let pip install nowhere else.
FIND_PYTHON = (
    'python="$HOME/pocketqa/bin/python"; [ -x "$python" ] || python=$(command -v python3) '
    f"|| exit {NO_PYTHON}"
)
INSTALL = "python3 -m venv pocketqa && pocketqa/bin/pip install numpy ai-edge-litert onnxruntime"


class SshTarget:
    """A host that the system's ssh client reaches without a password, so its keys, config and jump hosts all
    work.

    Opening it connects once; TargetError says what is in the way. Files go through `cat`: boards with a small
    ssh server have neither scp nor sftp.
    """

    emulated = False

    def __init__(self, name: str) -> None:
        self.name = name
        # ssh itself understands ssh://user@host:port.
        self.host = name if name.startswith("ssh://") else name.removeprefix(SSH)
        plain = re.fullmatch(r"[^-\s][^\s]*", self.host) is not None and self.host.isprintable()
        check_option(plain, "--target", repr(name), "ssh:USER@HOST")
        self.shell(FIND_PYTHON)

    def describe(self, system: Mapping[str, Any]) -> Machine:
        """The machine, from what a worker there tells."""
        return describe(system)

    @contextmanager
    def deploy(self, bundle: Bundle) -> Iterator[Deployment]:
        """Copy weights and worker into a new folder of the host, removed in the end."""
        made = (
            self.shell('mktemp -d "${TMPDIR:-/tmp}/pocketqa.XXXXXX"')
            .decode(errors="replace")
            .strip()
            .splitlines()[-1:]
        )
        if not made or not FOLDER.fullmatch(made[0]):
            raise TargetError(
                f"{self.name}: mktemp printed no folder but {made}; does its shell print something at login?"
            )
        folder = made[0]
        weights = bundle.weights.name
        files = sorted({*WORKER_FILES, FORMATS[bundle.format].file})
        try:
            self.shell(f"mkdir -p {' '.join(f'{folder}/{Path(file).parent}' for file in files)}")
            for path, copied in [(ROOT / file, file) for file in files] + [(bundle.weights, weights)]:
                with open(path, "rb") as file:
                    self.shell(f"cat > {folder}/{copied}", file)
            start = self.command(f'{FIND_PYTHON}; PYTHONPATH={folder} exec "$python" -m {WORKER}')
            request = {"path": f"{folder}/{weights}", "sha256": bundle.manifest.files[weights]}
            yield Deployment(tuple(start), request, self.name, f"ssh {self.host} '{INSTALL}'", SSH_FAILED)
        finally:
            with suppress(
                TargetError
            ):  # a host that is gone keeps the folder; the error that matters is on its way already
                self.shell(f"rm -rf {folder}")

    def command(self, script: str) -> list[str]:
        """The words that run a script on the host."""
        return ["ssh", *SSH_OPTIONS, "--", self.host, f"sh -c {shlex.quote(script)}"]

    def shell(self, script: str, stdin: Any = subprocess.DEVNULL) -> bytes:
        """Run a script on the host: its output."""
        try:
            done = subprocess.run(
                self.command(script), stdin=stdin, capture_output=True, check=False, timeout=SHELL_TIMEOUT_S
            )
        except FileNotFoundError:
            raise TargetError(
                f"--target {self.name} needs the ssh client, which is not installed; install openssh-client"
            ) from None
        except subprocess.TimeoutExpired:
            hint = "is its disk or network stuck?"
            raise TargetError(
                f"{self.name}: does not answer within {SHELL_TIMEOUT_S:g} seconds; {hint}"
            ) from None
        if done.returncode == NO_PYTHON:
            raise TargetError(f"{self.name}: has no python3; install Python 3.9 or newer there")
        if done.returncode != 0:
            said = complaint(done.stderr.decode(errors="replace")) or exit_text(done.returncode)
            hint = f"'{shlex.join(['ssh', self.host, 'true'])}' must work without a password"
            lost = done.returncode == SSH_FAILED
            raise TargetError(f"{self.name}: ssh failed ({said}); {hint}" if lost else f"{self.name}: {said}")
        return done.stdout


SETUP = Path("runs/arm64")
SETUP_COMMAND = "benchmarks/measure/arm64_python.sh"


class QemuTarget:
    """An ARM64 CPU under QEMU's user mode: what a model answers there, and how many instructions that takes;
    never how long.

    qemu:CPU/litert-1.4.0 has LiteRT of the Android app's release line. TargetError when
    benchmarks/measure/arm64_python.sh has not set it up, or not this CPU or LiteRT. QEMU emulates floating
    point in software, so its time tells nothing; the instructions a program executes are the CPU's own, and a
    plugin counts them between the marks that the worker sets around each runtime call: neither loading and
    packing weights nor Python's start is in the count. It repeats: a second run of two windows of a 3-layer
    int8 student differed by 15 in 267 million instructions in LiteRT, by 0.05 % in ONNX Runtime.
    """

    emulated = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.cpu, _, self.litert = name.removeprefix(QEMU).partition("/litert-")
        versions = SETUP / "versions.txt"  # written last
        if not versions.is_file():
            raise TargetError(f"--target {name}: {SETUP} has no ARM64 Python; run {SETUP_COMMAND} once")
        known = sorted(path.name for path in (SETUP / "cpus").iterdir())
        if self.cpu not in known:
            raise TargetError(
                f"--target {name}: no such CPU; there are {', '.join(QEMU + cpu for cpu in known)}"
            )
        if self.litert and not (SETUP / f"litert-{self.litert}").is_dir():
            raise TargetError(
                f"--target {name}: {SETUP} has no LiteRT {self.litert}; remove it and run {SETUP_COMMAND}"
            )
        self.qemu = versions.read_text(encoding="utf-8").splitlines()[0]

    def describe(self, system: Mapping[str, Any]) -> Machine:
        """CPU, emulator and instruction sets; nothing of the machine that emulates."""
        return Machine(f"{self.cpu} under {self.qemu}", features=useful_flags(system.get("cpuinfo", "")))

    @contextmanager
    def deploy(self, bundle: Bundle) -> Iterator[Deployment]:
        """Nothing needs to be copied: QEMU reads this machine's files."""
        with tempfile.TemporaryDirectory() as folder:
            marks = Path(folder) / "marks"
            environment = {"ICOUNT_FILE": str(marks), "LITERT": self.litert}
            start = (str(SETUP.absolute() / "python-arm64"), self.cpu, "-m", WORKER)
            yield Deployment(
                start,
                {"path": str(bundle.weights.absolute())},
                self.name,
                environment=environment,
                marks=marks,
            )


Target = SshTarget | QemuTarget


def count_between_marks(text: str, n_calls: int) -> np.ndarray:
    """Instructions of each call, (n_calls,), from the plugin's lines: the count before and after each call,
    one a line."""
    try:
        marks = np.array([int(line) for line in text.splitlines()], np.int64)
    except ValueError:
        marks = np.zeros(0, np.int64)
    if len(marks) != 2 * n_calls or (np.diff(marks) < 0).any():
        raise TargetError(
            f"the instruction counter set {len(marks)} marks for {n_calls} calls; run {SETUP_COMMAND} again"
        )
    return marks[1::2] - marks[::2]
