"""What a long command has done so far, so that the same command goes on where it was stopped."""

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from qa.base.errors import OptionError


class Journal:
    """Entries of one run, one a line. A torn last line, of a run that was killed, counts as not there.

    The file lies beside `out`, what the run writes in the end, in a folder named after it, its name made of
    `run`: all that makes it the same run. It is locked until `close`; OptionError while another process has
    it.
    """

    def __init__(self, out: Path, run: Mapping[str, Any], date: str = "") -> None:
        key = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()[:16]
        self.path = out.with_name(out.name + ".journal") / f"{key}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "a+b")  # noqa: SIM115, close() closes it
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise OptionError(f"{out}: another process is at work on the same; let it end first") from None
        lines = self._whole_lines()
        self._header: dict[str, Any] = lines[0] if lines else {"date": date, **run}
        self.date: str = self._header["date"]
        """Of the run that is gone on with, else the one given."""
        self.entries = lines[1:]

    def _whole_lines(self) -> list[dict[str, Any]]:
        """What the file has; a torn end is cut off."""
        found: list[dict[str, Any]] = []
        size = self._file.seek(0)
        for line in self._file.readlines():
            if not line.endswith(b"\n"):
                break
            found.append(json.loads(line))
            size += len(line)
        self._file.truncate(size)
        return found

    def add(self, entry: dict[str, Any]) -> None:
        """Keep one entry."""
        self.entries.append(entry)
        new = [entry] if self._file.seek(0, os.SEEK_END) else [self._header, entry]
        self._file.write("".join(json.dumps(line) + "\n" for line in new).encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def remove(self) -> None:
        """The run is over: what came of it is written."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):  # it has other runs' journals
            self.path.parent.rmdir()

    def close(self) -> None:
        """Let another process have it; nothing is left of one without entries."""
        if not self.entries:
            self.remove()
        self._file.close()
