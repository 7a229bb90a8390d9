"""A real sshd on the loopback, with keys of its own, as the board of a test."""

import contextlib
import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

TOOLS = ("sh", "cat", "rm", "mktemp", "mkdir", "awk")
START_TIMEOUT_S = 600


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(name):
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert found, f"{name} is needed: apt-get install openssh-server openssh-client"
    return found


class Board:
    """A host named `board` to an ssh client in `path`; its home and its programs are folders of the test."""

    def __init__(self, folder, site):
        self.folder = folder
        self.site = site
        self.home = folder / "home"
        self.path = folder / "client"
        self.tmp = self.home / "tmp"
        self.port = free_port()
        for made in (self.path, self.tmp, self.home / "bin", self.home / "pocketqa" / "bin"):
            made.mkdir(parents=True)
        for tool in TOOLS:
            (self.home / "bin" / tool).symlink_to(shutil.which(tool))
        for key in ("host", "user", "stranger"):
            command = [program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
            subprocess.run(command, check=True)
        shutil.copy(folder / "user.pub", folder / "authorized_keys")
        (folder / "ssh_config").write_text(self._client_config())
        self.script(
            self.path / "ssh",
            f'exec {shlex.quote(program("ssh"))} -F {shlex.quote(str(folder / "ssh_config"))} "$@"',
        )
        self.python()

    @staticmethod
    def script(path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def python(self, before="", site=None):
        """What the board takes for its Python: this one with numpy and the runtimes only; `before` runs
        first."""
        run = f'PYTHONPATH={shlex.quote(str(site or self.site))}:$PYTHONPATH exec {shlex.quote(sys.executable)} -S -s -P "$@"'
        self.script(self.home / "pocketqa" / "bin" / "python", f"{before}\n{run}")

    def _client_config(self):
        common = f"  HostName 127.0.0.1\n  User {getpass.getuser()}\n  IdentitiesOnly yes\n"
        common += f"  UserKnownHostsFile {self.folder}/known_hosts\n"
        hosts = {
            "board": (self.port, "user", "accept-new"),
            "stranger": (self.port, "stranger", "accept-new"),
            "closed": (free_port(), "user", "accept-new"),
            "unknown": (self.port, "user", "yes\n  GlobalKnownHostsFile none\n  HostKeyAlias never-seen"),
        }
        return "".join(
            f"Host {name}\n{common}  Port {port}\n  IdentityFile {self.folder}/{key}\n  "
            f"StrictHostKeyChecking {checking}\n"
            for name, (port, key, checking) in hosts.items()
        )

    def _server_config(self):
        return (
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nPidFile none\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            f"SetEnv HOME={self.home} PATH={self.home}/bin TMPDIR={self.tmp} OMP_NUM_THREADS=1\n"
        )

    @contextlib.contextmanager
    def running(self):
        """sshd runs meanwhile."""
        config = self.folder / "sshd_config"
        log = self.folder / "sshd.log"
        config.write_text(self._server_config())
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where root's sshd puts away its privileges
        with (
            open(log, "wb") as errors,
            subprocess.Popen([program("sshd"), "-D", "-e", "-f", config], stderr=errors) as server,
        ):
            try:
                began = time.monotonic()
                while not self._answers():
                    assert server.poll() is None, log.read_text()
                    assert time.monotonic() - began < START_TIMEOUT_S, log.read_text()
                    time.sleep(0.05)
                yield self
            finally:
                server.terminate()

    def _answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
