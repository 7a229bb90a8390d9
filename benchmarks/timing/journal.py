"""What a run has measured so far, so that the same command goes on where it was stopped."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qa.files import write_whole


class Journal:
    """Entries of one run, one a line. A torn last line, of a run that was killed, counts as not there.

    The file lies beside the rows in the folder <rows>.journal, its name made of `run`: all that makes it the same run.
    """

    def __init__(self, rows_path: Path, run: Mapping[str, Any], date: str) -> None:
        key = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()[:16]
        self.path = rows_path.with_suffix(".journal") / f"{key}.jsonl"
        lines = self._lines()
        self._header: dict[str, Any] = lines[0] if lines else {"date": date, **run}
        self.date: str = self._header["date"]
        """Of the run that is gone on with, else the one given."""
        self.entries = lines[1:]
        self._begun = False

    def _lines(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else ():
            try:
                found.append(json.loads(line))
            except ValueError:
                break
        return found

    def add(self, entry: dict[str, Any]) -> None:
        """Keep one entry."""
        self.entries.append(entry)
        if not self._begun:  # the whole file, which heals a torn line
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, "".join(json.dumps(line) + "\n" for line in (self._header, *self.entries)))
            self._begun = True
            return
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """The run is over: its rows have been appended."""
        self.path.unlink(missing_ok=True)
        if self.path.parent.is_dir() and not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()
