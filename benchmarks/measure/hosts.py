"""Where workers run: on this machine in any Python environment, on a host by ssh, on an ARM64 CPU under QEMU.

A worker is a process of `benchmarks/measure/worker.py`; its protocol is that of `qa/runtime/remote.py`.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure.worker_process import WORKER
from benchmarks.results.rows import QEMU, SSH, Machine
from qa.base.cli import check_option
from qa.base.errors import PocketQAError
from qa.bundles.bundle import Bundle
from qa.formats.registry import FORMATS
from qa.runtime.remote import ROOT, Deployment, complaint, exit_text

# The files of the project that a worker needs, beside the module of a bundle's runtime.
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


class TargetError(PocketQAError):
    """A target cannot be reached or lacks something; the message names it and what to do."""


def on_this_machine(
    path: Path, adapter: str | None = None, python: Path = Path(sys.executable), precision: str | None = None
) -> Deployment:
    """Return the deployment of a bundle's weights, or of what an adapter module loads, in a Python with its
    libraries.

    `precision` is for an adapter that computes one model in several precisions.
    """
    return Deployment(
        (str(python), "-m", WORKER),
        {"path": str(path.absolute()), "adapter": adapter, "precision": precision},
    )


def open_target(name: str) -> "Target":
    """Open a remote target by name. OptionError or TargetError when it does not exist."""
    return QemuTarget(name) if name.startswith(QEMU) else SshTarget(name)


# ssh never prompts; a host that is silent for a minute counts as gone.
SSH_OPTIONS = (
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=4",
)
SSH_FAILED = 255  # ssh's own exit code; any other is that of the command
NO_PYTHON = 97
FOLDER = re.compile(r"/[-\w./+@:]+")
# The virtual environment ~/pocketqa if it exists: many systems let pip install nowhere else.
FIND_PYTHON = (
    'python="$HOME/pocketqa/bin/python"; [ -x "$python" ] || python=$(command -v python3) '
    f"|| exit {NO_PYTHON}"
)
INSTALL = "python3 -m venv pocketqa && pocketqa/bin/pip install numpy ai-edge-litert onnxruntime"


class SshTarget:
    """A host that the system's ssh client reaches without a password, by its keys, config and jump hosts.

    Opening it connects once; TargetError says what fails. Files are copied through `cat`: boards with a small
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

    def describe(self, machine: Machine) -> Machine:
        """Return the machine that a worker found."""
        return machine

    @contextmanager
    def deploy(self, bundle: Bundle) -> Iterator[Deployment]:
        """Copy weights and worker into a new folder of the host; remove it at the end."""
        printed = self.shell('mktemp -d "${TMPDIR:-/tmp}/pocketqa.XXXXXX"').decode(errors="replace").strip()
        folder = printed.split("\n")[-1]
        if not FOLDER.fullmatch(folder):
            raise TargetError(
                f"{self.name}: mktemp printed {folder!r} instead of a folder; does the shell print at login?"
            )
        weights = bundle.weights.name
        files = sorted({*WORKER_FILES, FORMATS[bundle.format].file})
        try:
            # An installed project would win over folders without __init__.py.
            packages = " ".join(sorted({str(each) for file in files for each in Path(file).parents[:-1]}))
            self.shell(
                f"set -e; cd {folder}; for each in {packages}; do mkdir $each; : > $each/__init__.py; done"
            )
            for path, copied in [(ROOT / file, file) for file in files] + [(bundle.weights, weights)]:
                with open(path, "rb") as file:
                    self.shell(f"cat > {folder}/{copied}", file)
            # ssh reports a command that a signal kills as a lost connection; so a shell waits for the worker.
            # Python looks for modules in its folder first, and in the home there may be any.
            run = f'cd {folder} && PYTHONPATH={folder} "$python" -m {WORKER}'
            start = self.command(f"{FIND_PYTHON}; {run}; exit $?")
            request = {"path": f"{folder}/{weights}", "sha256": bundle.manifest.files[weights]}
            yield Deployment(tuple(start), request, self.name, f"ssh {self.host} '{INSTALL}'", SSH_FAILED)
        finally:
            with suppress(TargetError):  # a lost host keeps the folder; its error is already being raised
                self.shell(f"rm -rf {folder}")

    def command(self, script: str) -> list[str]:
        """Return the command that runs a script on the host."""
        return ["ssh", *SSH_OPTIONS, "--", self.host, f"sh -c {shlex.quote(script)}"]

    def shell(self, script: str, stdin: Any = subprocess.DEVNULL) -> bytes:
        """Run a script on the host and return its output."""
        try:
            done = subprocess.run(
                self.command(script), stdin=stdin, capture_output=True, check=False, timeout=SHELL_TIMEOUT_S
            )
        except FileNotFoundError:
            raise TargetError(
                f"--target {self.name} needs the ssh client, which is not installed; install openssh-client"
            ) from None
        except subprocess.TimeoutExpired:
            raise TargetError(
                f"{self.name}: does not answer within {SHELL_TIMEOUT_S:g} seconds; "
                "is its disk or network stuck?"
            ) from None
        if done.returncode == NO_PYTHON:
            raise TargetError(f"{self.name}: has no python3; install Python 3.9 or newer there")
        if done.returncode != 0:
            line = complaint(done.stderr.decode(errors="replace")) or exit_text(done.returncode)
            if done.returncode == SSH_FAILED:
                check = shlex.join(["ssh", self.host, "true"])
                raise TargetError(f"{self.name}: ssh failed ({line}); '{check}' must work without a password")
            raise TargetError(f"{self.name}: {line}")
        return done.stdout


SETUP = Path("runs/arm64")
SETUP_COMMAND = "benchmarks/measure/arm64_python.sh"


class QemuTarget:
    """An ARM64 CPU under QEMU's user mode: it computes answers and counts instructions, and times nothing.

    qemu:CPU/litert-1.4.0 has the Android app's release line of LiteRT. TargetError when
    benchmarks/measure/arm64_python.sh has not set it up, or not this CPU or LiteRT.

    QEMU emulates floating point in software, so its time has no meaning. The instructions of a program are
    those of the real CPU. A plugin counts them between the marks that the worker sets around each runtime
    call, so the count includes neither loading and packing weights nor Python's start. Counts repeat: a
    second run of two windows of a 3-layer int8 student differed by 15 in 267 million instructions in LiteRT,
    by 0.05 % in ONNX Runtime.
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

    def describe(self, machine: Machine) -> Machine:
        """Describe CPU, emulator and instruction sets, not the machine that emulates."""
        return Machine(f"{self.cpu} under {self.qemu}", features=machine.features)

    @contextmanager
    def deploy(self, bundle: Bundle) -> Iterator[Deployment]:
        """Copy nothing: QEMU reads this machine's files."""
        with tempfile.TemporaryDirectory() as folder:
            marks = Path(folder) / "marks"
            environment = {"ICOUNT_FILE": str(marks), "LITERT": self.litert}
            start = (str(SETUP.absolute() / "python-arm64"), self.cpu, "-m", WORKER)
            load = {"path": str(bundle.weights.absolute())}
            yield Deployment(start, load, self.name, environment=environment, marks=marks)


Target = SshTarget | QemuTarget


def count_between_marks(text: str, n_calls: int) -> np.ndarray:
    """Return the instructions of each call, (n_calls,), from the counts before and after each call."""
    try:
        marks = np.array([int(line) for line in text.splitlines()], np.int64)
    except ValueError:
        marks = np.zeros(0, np.int64)
    if len(marks) != 2 * n_calls or (np.diff(marks) < 0).any():
        raise TargetError(
            f"the instruction counter set {len(marks)} marks for {n_calls} calls; run {SETUP_COMMAND} again"
        )
    return marks[1::2] - marks[::2]
