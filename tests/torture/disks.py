"""Full and read-only disks: a small file system where this user may mount one, else a limit on the size of
files."""

import os
import subprocess

from case import wrong_exit
from stages import OfStages, drafts, goes_on, half_finished, lay_out, start

ROOMY = 1 << 30


class Disks(OfStages):
    """A command that meets a full or read-only disk says so in one line and goes on when there is room."""

    name = "full and read-only disks"
    n_cases = 96
    seconds = 600

    def prepare(self) -> None:
        """Import what stages import, and see what this user may."""
        super().prepare()
        self.disk = self.scratch / "disk"
        self.disk.mkdir(parents=True, exist_ok=True)
        self.mounts = os.geteuid() == 0 and self._mount(ROOMY) == 0
        self._unmount()

    def _mount(self, size: int, *options: str) -> int:
        words = ["mount", "-t", "tmpfs", "-o", ",".join([f"size={size}", *options]), "tmpfs", str(self.disk)]
        return subprocess.run(words, capture_output=True, check=False).returncode

    def _unmount(self) -> None:
        if self.mounts:
            subprocess.run(["umount", str(self.disk)], capture_output=True, check=False)

    def run(self, number: int) -> str:
        """One disk in four is read-only, the others have room for a part of what would be written."""
        try:
            return self._run(number)
        finally:
            self._unmount()

    def _run(self, number: int) -> str:
        rng = self.rng(number)
        name, stage, expected = self.stage(number)
        read_only = rng.randrange(4) == 0
        room = int(expected.n_bytes * rng.uniform(0, 1.2))
        folder = self.disk / "folder"
        if self.mounts:
            self._mount(ROOMY)
        lay_out(folder, self.material)
        largest = None
        if self.mounts:
            self._remount(room + 65536, *(["ro"] if read_only else []))
        elif read_only and os.geteuid() != 0:
            folder.chmod(0o555)
        else:
            largest = room
        code, said = start(stage, folder, self.scratch, largest=largest).finish()
        if self.mounts:
            self._remount(ROOMY, "rw")
        folder.chmod(0o755)
        left = drafts(folder)
        wrong = wrong_exit(code, said) or (f"left {left}" if left else "") or half_finished(stage, folder)
        if not wrong and code == 0 and not (folder / stage.result).exists():
            wrong = "ended well, and made nothing"
        wrong = wrong or goes_on(stage, folder, self.scratch, expected)
        kind = "read-only" if read_only else f"{room:,} bytes of room, {expected.n_bytes:,} needed"
        return f"{name}, {kind}: {wrong}" if wrong else ""

    def _remount(self, size: int, *options: str) -> None:
        if self._mount(size, "remount", *options) != 0:
            raise SystemExit(f"{self.disk}: cannot be mounted again")
