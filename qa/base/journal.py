"""Record what a long command has done, so that the same command continues after a stop."""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from qa.base.errors import BusyError, OptionError


def lock(path: Path | str, flags: int = os.O_RDONLY, output: Path | None = None) -> int:
    """Open and lock a file or folder; return the descriptor whose closing unlocks it.

    The lock ends with the process, however that ends. BusyError while another process holds it, which names
    the `output`, by default the path.
    """
    try:
        import fcntl  # Windows has none, where a model can be loaded and asked
    except ModuleNotFoundError:
        raise OptionError(f"{output or path}: commands that write results need Linux") from None
    descriptor = os.open(path, flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        where = output or path
        raise BusyError(f"{where}: another process is at work on the same; let it end first") from None
    return descriptor


class Journal:
    """Entries of one run, one per line; an incomplete last line of a killed run is ignored.

    `out` is the output of the run; the file lies beside it in <out>.journal. `run` holds all that makes two
    runs the same, and its hash is the file's name. The file is locked until `close`; OptionError while
    another process holds the lock.
    """

    def __init__(self, out: Path, run: Mapping[str, Any], date: str = "") -> None:
        key = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()[:16]
        self.path = out.with_name(out.name + ".journal") / f"{key}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # close() closes it.
        self._file = open(self.path, "a+b", opener=lambda path, flags: lock(path, flags, out))  # noqa: SIM115
        lines = self._whole_lines()
        self._header: dict[str, Any] = lines[0] if lines else {"date": date, **run}
        self.date: str = self._header["date"]
        """Date when the run began."""
        self.entries = lines[1:]

    def _whole_lines(self) -> list[dict[str, Any]]:
        """Read the complete lines and cut off the rest: what a kill or a power cut left is no JSON."""
        lines: list[dict[str, Any]] = []
        size = self._file.seek(0)
        for line in self._file.readlines():
            if not line.endswith(b"\n"):
                break
            try:
                lines.append(json.loads(line))
            except ValueError:
                break
            size += len(line)
        self._file.truncate(size)
        return lines

    def add(self, entry: dict[str, Any]) -> None:
        """Append an entry and wait until it is on the disk."""
        self.entries.append(entry)
        new = [entry] if self._file.seek(0, os.SEEK_END) else [self._header, entry]
        self._file.write("".join(json.dumps(line) + "\n" for line in new).encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def remove(self) -> None:
        """Remove the file once the output of the run is written."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):  # the folder holds journals of other runs
            self.path.parent.rmdir()

    def close(self) -> None:
        """Release the lock; a journal without entries is removed."""
        if not self.entries:
            self.remove()
        self._file.close()
