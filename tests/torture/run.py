"""Torture: damage, kill and misuse everything by the thousand, with a seed, and say what went wrong.

    python tests/torture/run.py                          # the whole of it, a night's work; goes on after a stop
python tests/torture/run.py --share 0.01             # a hundredth of every sort
python tests/torture/run.py --only texts --case 17   # one case again
"""

import contextlib
import json
import os
import platform
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro
from material import ROOT, environment, make_material
from sorts import SORTS
from tqdm import tqdm

HERE = Path(__file__).parent
SLOW_START = 300  # seconds: a worker imports, loads models, or runs a stage undisturbed before its first case


@dataclass(frozen=True)
class Config:
    """Damage, kill and misuse everything; exit code 1 when something went wrong."""

    out: Path = Path("runs/torture")
    """Folder for the material, the journal and the summary."""
    seed: int = 0
    """Another seed tries other things; the journal in --out belongs to one seed."""
    share: float = 1.0
    """Part of a full run."""
    only: tuple[str, ...] = ()
    """Sorts to try; all unless given."""
    case: int | None = None
    """One case alone, whether it was tried before or not."""
    summary: Path | None = None
    """Write the table of the result here too, as Markdown."""


@dataclass(frozen=True)
class Tried:
    """One case."""

    sort: str
    case: int
    wrong: str
    seconds: float


class Journal:
    """What was tried, a line of JSON each, so that a stopped run goes on."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        header = {"seed": seed}
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []  # a torn last line was not tried
        if lines and json.loads(lines[0]) != header:
            raise SystemExit(
                f"error: {path} is of {json.loads(lines[0])}, not of {header}; give another --out"
            )
        self.tried = [Tried(**json.loads(line)) for line in lines[1:]]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(json.dumps(entry) + "\n" for entry in (header, *map(asdict, self.tried))),
            encoding="utf-8",
        )

    def add(self, tried: Tried) -> None:
        """Keep it."""
        self.tried.append(tried)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(tried)) + "\n")


class Worker:
    """A process that runs the cases of one sort; a new one when it dies or hangs."""

    def __init__(self, sort: str, material: Path, scratch: Path, seed: int) -> None:
        self.sort = sort
        self.words = [sort, str(material), str(scratch), str(seed)]
        self.process: subprocess.Popen[bytes] | None = None
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True, exist_ok=True)

    def run(self, case: int) -> Tried:
        """One case."""
        began = time.monotonic()
        seconds = SORTS[self.sort].seconds
        if self.process is None:
            command = [sys.executable, str(HERE / "worker.py"), *self.words]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                command, env=environment(), stdin=pipe, stdout=pipe, start_new_session=True
            )
            seconds += SLOW_START
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{case}\n".encode())
        self.process.stdin.flush()
        came, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if came else b""
        if line:
            wrong = json.loads(line)
        else:
            wrong = (
                f"the process ended with {self.process.wait()}"
                if came
                else f"nothing came for {seconds:.0f} s"
            )
            self.close()
        return Tried(self.sort, case, wrong, round(time.monotonic() - began, 3))

    def close(self) -> None:
        """End the process and all that it started."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def plan(config: Config) -> Iterator[tuple[str, range]]:
    """The cases of each sort."""
    unknown = [name for name in config.only if name not in SORTS]
    if unknown:
        raise SystemExit(f"error: --only {unknown[0]!r}: no such sort; there are {', '.join(SORTS)}")
    for name, sort in SORTS.items():
        if not config.only or name in config.only:
            n = max(1, round(config.share * sort.n_cases))
            yield name, range(n) if config.case is None else range(config.case, config.case + 1)


def table(tried: Sequence[Tried]) -> str:
    """What was tried and what went wrong, as Markdown."""
    rows = ["| what | cases | wrong | minutes |", "|---|---|---|---|"]
    for name in SORTS:
        mine = [t for t in tried if t.sort == name]
        if mine:
            n_wrong = sum(bool(t.wrong) for t in mine)
            minutes = sum(t.seconds for t in mine) / 60
            rows.append(f"| {name} | {len(mine):,} | {n_wrong:,} | {minutes:.1f} |")
        elif SORTS[name].missing():
            rows.append(f"| {name} | not tried: {SORTS[name].missing()} | | |")
    return "\n".join(rows)


def report(config: Config, tried: Sequence[Tried]) -> str:
    """The table with what it was made of, and every case that went wrong."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout[:12]
    wrong = [f"- {t.sort} {t.case}: {t.wrong}" for t in tried if t.wrong]
    head = (
        f"Seed {config.seed}, commit {commit or 'unknown'}, Python {platform.python_version()}, "
        f"{platform.machine()}."
    )
    return "\n\n".join([head, table(tried), *(["\n".join(wrong)] if wrong else [])]) + "\n"


def main(config: Config) -> int:
    """Make the material, try everything that was not tried yet, report."""
    out = config.out.absolute()
    material = out / "material"
    print("making the material" if not material.exists() else f"material: {material}", file=sys.stderr)
    make_material(material)
    journal = Journal(out / "journal.jsonl", config.seed)
    known: set[Any] = {(t.sort, t.case) for t in journal.tried} if config.case is None else set()
    shown: list[Tried] = []
    for name, cases in plan(config):
        if lacking := SORTS[name].missing():
            print(f"{name}: not tried, {lacking}", file=sys.stderr)
            continue
        left = [case for case in cases if (name, case) not in known]
        worker = Worker(name, material, out / "scratch" / name.replace(" ", "-"), config.seed)
        try:
            for case in tqdm(left, desc=name, unit="case", disable=not left):
                tried = worker.run(case)
                journal.add(tried)
                if tried.wrong:
                    tqdm.write(f"{name} {case}: {tried.wrong}")
        finally:
            worker.close()
        latest = {
            t.case: t for t in journal.tried if t.sort == name
        }  # a case that was tried again counts as it went then
        shown += [latest[case] for case in cases]
    text = report(config, shown)
    print(text)
    (out / "summary.md").write_text(text, encoding="utf-8")
    if config.summary is not None:
        config.summary.write_text(text, encoding="utf-8")
    return int(any(t.wrong for t in shown))


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config)))
