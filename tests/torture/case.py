"""What every sort of torture shares: its number of cases, its seed, and what counts as wrong."""

import random
import traceback
from collections.abc import Callable
from pathlib import Path

from qa.base.errors import PocketQAError


class Torture:
    """One sort. A case is its number; the same number with the same seed does the same."""

    name: str
    n_cases: int
    """In a full run."""
    seconds: float = 60
    """After so long a case hangs."""

    def __init__(self, material: Path, seed: int, scratch: Path) -> None:
        self.material = material
        self.seed = seed
        self.scratch = scratch
        self.prepare()

    def prepare(self) -> None:
        """Whatever is needed once."""

    def rng(self, number: int) -> random.Random:
        """The case's own chance."""
        return random.Random(f"{self.name} {self.seed} {number}")

    @staticmethod
    def missing() -> str:
        """What this machine lacks for it; then none of its cases are tried."""
        return ""

    def real_words(self) -> list[str]:
        """Some thousand, with punctuation."""
        return (self.material / "questions.json").read_text(encoding="utf-8")[:20_000].split()

    def run(self, number: int) -> str:
        """Do it; what went wrong in one line, or nothing."""
        raise NotImplementedError


def refused_or(wanted: Callable[[], str]) -> str:
    """What `wanted` says, nothing where the input is refused in one line, and the place of any other
    exception."""
    try:
        return wanted()
    except PocketQAError as error:
        return f"a message of several lines: {str(error)[:200]!r}" if "\n" in str(error) else ""
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:200]}"


def wrong_exit(code: int, stderr: str, allowed: tuple[int, ...] = (0, 2)) -> str:
    """What is wrong with how a command ended: a signal, another code, a traceback, or an error of more than
    one line."""
    if "Traceback (most recent call last)" in stderr:
        return f"traceback: {stderr.strip().splitlines()[-1][:300]}"
    if code not in allowed:
        return f"exit code {code}: {stderr.strip()[-300:]}"
    errors = [line for line in stderr.splitlines() if line.startswith("error: ")]
    return f"{len(errors)} error lines" if code == 2 and len(errors) > 1 else ""
